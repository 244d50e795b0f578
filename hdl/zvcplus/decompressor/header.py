"""The fields of a control in front of its mask."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import carry_save, popcount
from cdma.hdl.lib.signals import registered
from cdma.hdl.zvcplus.config import WIDTH_BITS, Config
from cdma.hdl.zvcplus.decompressor.layouts import Header, window_bits

EXTENDED = 3  # of modes
RAW, RAW_MASK, DENSE, RESERVED, WIDE_DIFFERENCES, WIDE_RAW_MASK, WIDE_DENSE, WIDE_AS_IS = range(8)


class HeaderReader(wiring.Component):
    """Read the fields of a control, and its length.

    The fields of the short header (mode 1 and 2) and of the extended one are read side by side.

    Throughput one control a cycle, latency one cycle; the output comes from registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    bits : In, the stream from the control on
    nothing : In, the control has no bits: the block has only zeros, and the length is 0
    skip : In, ``control`` is 0
    header : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.Header`
    control : Out, bits of the control, or 0
    """

    bits: Signal
    nothing: Signal
    skip: Signal
    header: data.View
    control: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "bits": In(window_bits(config)),
                "nothing": In(1),
                "skip": In(1),
                "header": Out(Header(config)),
                "control": Out(range(window_bits(config) + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        mode, ext = self.bits[:2], self.bits[2:5]
        is_extended = Signal()
        m.d.comb += is_extended.eq(mode == EXTENDED)
        short = self._fields(m, 2, Const(0, 1), Const(0, 1), "short")
        extended = self._fields(
            m,
            5,
            (ext == RAW_MASK) | (ext == WIDE_RAW_MASK),
            (ext == DENSE) | (ext == WIDE_DENSE),
            "extended",
        )
        header = Signal(Header(self.config))
        has_fields = (ext != RAW) & (ext != RESERVED)
        m.d.comb += [
            header.eq(Mux(is_extended, extended, short)),
            header.coded.eq(Mux(is_extended, has_fields, mode != 0)),
            header.raw.eq(is_extended & (ext == RAW)),
            header.reserved.eq(is_extended & (ext == RESERVED)),
            header.differences.eq(Mux(is_extended, ext == WIDE_DIFFERENCES, mode == 1)),
            header.dense.eq(is_extended & ((ext == DENSE) | (ext == WIDE_DENSE))),
            header.wide.eq(is_extended & ext[2]),
        ]
        with m.If(~header.coded):
            if self.config.has_repeats:
                m.d.comb += header.has_repeats.eq(0)
            m.d.comb += [header.length.eq(Mux(is_extended, 5, 2)), header.flags.eq(0)]
        with m.If(self.nothing):
            m.d.comb += header.eq(0)
        m.d.comb += [
            self.header.eq(registered(m, header, "held")),
            self.control.eq(registered(m, Mux(self.skip, 0, header.length), "held_control")),
        ]
        return m

    def _fields(self, m, start, is_raw_mask, is_dense, name):
        """Those that a coded block has from bit ``start`` on; others are anything."""
        result = Signal(Header(self.config), name=name)
        read = self._float_fields if self.config.word.is_float else self._int_fields
        read(m, start + self.config.has_repeats, is_raw_mask, is_dense, result, name)
        if self.config.has_repeats:
            m.d.comb += result.has_repeats.eq(self.bits[start])
        return result

    def _float_fields(self, m, start, is_raw_mask, is_dense, result, name):
        word, bits = self.config.word, self.bits
        d, k = bits[start:][:3], bits[start + 3 :][:3]
        has_flags = Signal(name=f"{name}_has_flags")
        has_base = Signal(name=f"{name}_has_base")
        at = start + 6
        flags = bits[at:][: word.flags]
        body_bits = len(result.body)
        behind = [
            _at(bits, at + flags_bits + base_bits, body_bits)
            for flags_bits in (0, word.flags)
            for base_bits in (0, word.exponent)
        ]
        ones = (1 << word.flags) - 1
        # Nibbles and a base, in units of their own, then the rest, which is constant.
        nibbles = popcount(m, flags)
        base_bits = Mux(has_base, word.exponent, 0)
        sent = self._sent(m, flags, at + word.flags, nibbles, has_base)
        m.d.comb += [
            has_flags.eq(~is_raw_mask & ~is_dense),
            has_base.eq(d == 7),
            result.k.eq(self._offset_bits(k)),
            result.d.eq(d),
            result.base.eq(
                Mux(has_flags, bits[at + word.flags :][: word.exponent], bits[at:][: word.exponent])
            ),
            result.flags.eq(Mux(is_raw_mask, ones, flags)),
            result.body.eq(
                Mux(
                    has_flags,
                    Mux(has_base, behind[3], behind[2]),
                    Mux(has_base, behind[1], behind[0]),
                )
            ),
            result.length.eq(
                Mux(has_flags, sent, Mux(is_dense, at, at + word.block_words) + base_bits)
                + (Mux(bits[start - 1], word.count_bits, 0) if self.config.has_repeats else 0)
            ),
        ]
        if self.config.has_repeats:
            m.d.comb += result.nibbles.eq(Mux(has_flags, nibbles, Mux(is_dense, 0, word.flags)))

    def _sent(self, m, flags, fixed, nibbles, has_base):
        """Bits of a control with flags: those that are fixed, its nibbles, and a base."""
        exponent = self.config.word.exponent
        if exponent % 4:
            return fixed + 4 * nibbles + Mux(has_base, exponent, 0)
        # In units of nibbles, a base is one more term: no sum follows that of the nibbles.
        half, bits = len(flags) // 2, len(self.header.length) - 2
        terms = [popcount(m, part) for part in (flags[:half], flags[half:])]
        terms.append(Mux(has_base, fixed + exponent, fixed) >> 2)
        return Cat(Const(fixed % 4, 2), sum(carry_save(m, terms, bits))[:bits])

    def _int_fields(self, m, start, is_raw_mask, is_dense, result, name):
        word, bits = self.config.word, self.bits
        half, first = bits[start], start + 1
        groups = self.config.block_groups
        own, shared = (
            [bits[first + WIDTH_BITS * (k // size) :][:WIDTH_BITS] for k in range(groups)]
            for size in (1, 2)
        )
        # The same behind the widths of small groups and of large ones.
        parts = []
        for count in (groups // 2, groups):
            at = first + WIDTH_BITS * count
            flags = bits[at:][: word.flags]
            nibbles = popcount(m, flags)
            behind = Mux(is_dense, at, at + word.block_words)
            length = Signal.like(result.length, name=f"{name}_length{count}")
            m.d.comb += length.eq(
                Mux(is_raw_mask | is_dense, behind, at + word.flags + 4 * nibbles)
            )
            bodies = [_at(bits, at + size, len(result.body)) for size in (0, word.flags)]
            # Of a dense block with repeats, the number behind an empty mask.
            has_none = is_raw_mask | is_dense if self.config.has_repeats else is_raw_mask
            body = Mux(has_none, bodies[0], bodies[1])
            parts.append(Cat(flags, body, length, *([nibbles] if self.config.has_repeats else [])))
        part = Mux(half, parts[1], parts[0])
        flags, behind = part[: word.flags], part[word.flags :]
        length = behind[len(result.body) :][: len(result.length)]
        if self.config.has_repeats:
            length += Mux(bits[start - 1], word.count_bits, 0)
            nibbles = behind[len(result.body) + len(result.length) :]
            sent = Mux(is_dense, 0, Mux(is_raw_mask, word.flags, nibbles))
            m.d.comb += result.nibbles.eq(sent)
        m.d.comb += [
            result.widths.eq(Mux(half, Cat(own), Cat(shared))),
            result.flags.eq(Mux(is_raw_mask, (1 << word.flags) - 1, flags)),
            result.body.eq(behind[: len(result.body)]),
            result.length.eq(length),
        ]

    def _offset_bits(self, k):
        """``k``, but at most the exponent: words would be wider than a lane, and the beats of a
        wrong stream longer than the rows that are read for them."""
        longest = self.config.word.exponent
        return Mux(k == 6, longest, k) if longest < 6 else k


def _at(bits, start, width):
    """``width`` bits from ``start`` on, with zeros behind the end."""
    part = bits[start:][:width]
    return Cat(part, Const(0, width - len(part))) if len(part) < width else part
