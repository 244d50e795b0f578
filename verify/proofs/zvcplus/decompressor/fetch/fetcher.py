"""Blocks and payloads of packets, compared with controls that stand behind one another."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor import fetcher
from cdma.hdl.zvcplus.decompressor.check import StreamCheck
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import (
    BIT_BITS,
    Block,
    Header,
    most_crossed,
    place_bits,
    reach,
    row_bits,
    window_bits,
)
from cdma.hdl.zvcplus.decompressor.payload.words import AS_IS
from cdma.hdl.zvcplus.decompressor.rows import slot_of
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import (
    anything,
    is_one_at_most,
    leave_open,
    leave_ports_open,
    offer,
    take,
)
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.decompressor.fetch.any_ends import AnyEnds
from cdma.verify.proofs.zvcplus.decompressor.fetch.any_parts import AnyLengths, AnyMasks, AnyMeter
from cdma.verify.proofs.zvcplus.decompressor.fetch.repeats import BlockRepeats
from cdma.verify.proofs.zvcplus.masks import spread_mask

SENT, SAME = 7, 3  # of d: the base follows; it is that of the block before
CHECK_CYCLES = 3  # from a packet's last step to its end at the output
#: Parts whose ports the model looks at.
PARTS = ("ControlSteps", "ControlPlace", "HeaderReader", "MaskDecoder", "PayloadLength")


class AnyCheck(StreamCheck):
    """Finds any error of a packet, in the time of a check.

    Members
    -------
    as of :class:`~cdma.hdl.zvcplus.decompressor.check.StreamCheck`, and:
    is_busy : an error is not given yet
    late : that a packet's last step ended, a bit for each cycle since
    waits : those of them in which the length of its payload is not known
    """

    def __init__(self, config, depth):
        super().__init__(config, depth)
        self.is_busy = Signal()
        self.late = Signal(self._wait + CHECK_CYCLES)
        self.waits = self.late[: self._wait]

    def elaborate(self, platform):
        m = Module()
        ends = self.phase[-1] & self.is_end
        leave_ports_open(m, self, Out, "checked", "o_valid")
        m.d.sync += self.late.eq(Cat(ends, self.late))
        m.d.comb += [
            self.checked.eq(Cat(ends, self.late)[self._wait]),
            self.o_valid.eq(self.late[-1]),
            self.is_busy.eq(self.late.any()),
        ]
        return m


class FollowsControls(Elaboratable):
    """A packet's stream is a control, then controls, each with the payload of the block two before
    behind it, and the last payload. Each control is read where it stands, when its rows have come.
    It gives one block, with the mask, width, base and length that its header says, and the place of
    its payload. At the end of a packet, the fetcher waits until that has come.

    With repeats, the bits of repeats behind a control leave with its step, see
    :class:`~cdma.verify.proofs.zvcplus.decompressor.fetch.repeats.BlockRepeats`. The words begin
    behind these bits. A block says whether its packet has failed, and then no step waits for rows.

    What a header says of its bits is proven of the reader, and which error a packet has is proven
    of the check. In place of the check there is one that finds any error. With ``any_parts``, there
    are also any decoder of masks and any adder of lengths; of int8 with repeats, there is always
    any meter. What these give is proven of each, and here, that it comes from a step's control and
    belongs to the block of this control.
    """

    def __init__(self, dut, *, any_parts=False):
        self.dut = dut
        self.any_parts = any_parts

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        config = dut.config
        instead = {"StreamCheck": AnyCheck, "PayloadMeter": AnyMeter}
        if self.any_parts:
            instead |= {"MaskDecoder": AnyMasks, "PayloadLength": AnyLengths}
        others = ["RepeatReader", "PayloadMeter"] if config.has_repeats else []
        m.submodules.dut, parts = with_parts(
            dut, platform, (fetcher,), (*PARTS, "StreamCheck", *others), instead
        )
        self.steps, self.place, self.reader, self.masks, self.lengths = (
            parts[name] for name in PARTS
        )
        self.check, self.parts = parts["StreamCheck"], parts
        leave_open(m, dut, "rows", "come", "start_row")
        offer(m, dut.i_command, "command")
        steps = self.steps
        # The step reads a control, or with repeats only bits of repeats.
        self.looks = steps.has_control | (steps.is_tail if config.has_repeats else 0)
        self.ends = AnyEnds(m, dut, steps)
        if len(self.check.waits):
            self.ends.wait(m, steps, self.check.waits)
        # Invariant: one phase at a time.
        m.d.comb += Assert((steps.phase != 0) & is_one_at_most(steps.phase))
        # Room for a payload's place stays until it is used, room for an end, too.
        for port, name in ((dut.o_front, "front"), (dut.o_end, "end")):
            has_room = Signal(name=f"{name}_has_room")
            m.d.sync += has_room.eq(port.ready & ~port.valid)
            m.d.comb += [
                port.ready.eq(has_room | anything(m, 1, f"{name}_room")),
                Assert(~port.valid | port.ready),
            ]
        # Invariant: that for an end, the last of both.
        is_ending = self.check.is_busy | (steps.is_end & ~steps.phase[0])
        m.d.comb += Assert(~is_ending | has_room)
        self.at = Signal(place_bits(dut.depth), name="the_place")  # of a step's control
        self.ones = Signal(range(config.word.block_words + 1), name="ones")
        self.header = Signal(Header(config), name="the_header")
        self.repeats = None
        if config.has_repeats:
            self.repeats = BlockRepeats(m, dut, parts, self.header, self.ones)
        self._read(m)
        self._wait(m)
        self._give(m)
        self._follow(m)
        return m

    def _read(self, m):
        """Any bit of a control is that of the rows, as they are when its step begins, with repeats
        also any bit behind. Its header is there from the step's last cycle on."""
        dut, steps, header = self.dut, self.steps, self.reader.header
        number, last = Signal(range(reach(dut.config))), Signal(place_bits(dut.depth))
        m.d.comb += [
            number.eq(AnyConst(len(number))),
            Assume(number < reach(dut.config)),
            last.eq(self.at + number),
        ]
        bit, was = Signal(), [Signal(name=f"bit{cycle}") for cycle in range(3)]
        bits = self.reader.bits
        for row, slot in zip(dut.rows, slot_of(last[BIT_BITS:], dut.depth), strict=True):
            with m.If(slot):
                m.d.comb += bit.eq(Value.cast(row).bit_select(last[:BIT_BITS], 1))
        m.d.sync += [was[0].eq(bit), was[1].eq(was[0]), was[2].eq(was[1])]
        if self.repeats:
            bits = self.parts["RepeatReader"].bits
            self.repeats.follow(m, number, was[2], Mux(steps.has_control, header.length, 0))
        with m.If(steps.phase[2] & self.looks):
            m.d.comb += Assert(bits.bit_select(number, 1) == was[1])
        with m.If(steps.phase[3] & steps.has_control):
            m.d.sync += self.header.eq(header)
            m.d.comb += Assert(~steps.is_empty | (header.as_value() == 0))
        with m.If(~steps.phase[3] & steps.has_block):
            m.d.comb += Assert(header.as_value() == self.header.as_value())

    def _wait(self, m):
        """A step begins when the rows of its control have come, or all rows of its packet. With
        repeats, it waits for the rows of the bits of repeats too, and for none when the packet has
        failed."""
        dut, steps, place = self.dut, self.steps, self.place
        at = self.at
        begins, last, ahead = Signal(), Signal.like(at), Signal(row_bits(dut.depth))
        m.d.comb += [
            begins.eq(steps.phase[0] & steps.proceed & ~steps.starts),
            last.eq(at + reach(dut.config) - 1),
            ahead.eq(dut.come - (at >> BIT_BITS)),
        ]
        rows_here = ~ahead[-1] & (ahead > (last[BIT_BITS:] - at[BIT_BITS:])[: len(ahead)])
        may_begin = rows_here | dut.ended | self.ends.failed
        has_room = ~dut.o.valid & dut.o_front.ready
        if self.repeats:
            has_room = has_room & (~dut.o_repeats.valid | dut.o_repeats.ready)
        with m.If(steps.phase[0] & self.looks & may_begin & has_room & ~steps.is_end):
            m.d.comb += Assert(steps.proceed)
        with m.If(begins & self.looks):
            m.d.comb += [
                Assert(may_begin),
                # The window looks at the control.
                Assert(Cat(place.bit, place.row) == at),
                Assert(place.slot == slot_of(place.row, dut.depth)),
                Cover(steps.is_tail & (at[:BIT_BITS] == 0)),
                *([Cover(~rows_here & ~dut.ended)] if self.repeats else []),
            ]
        # Invariant: a packet's end is checked.
        ends = [steps.is_end & steps.phase[2], steps.is_end & steps.phase[3], *self.check.late]
        m.d.comb += [
            Assert(is_one_at_most(Cat(ends))),
            Assert(probe(m, "dut.is_pending", 1) == Cat(ends).any()),
        ]
        with m.If(begins & steps.is_end):
            m.d.comb += [Assert(self.ends.end_has_come), Assert(dut.o_end.ready)]

    def _give(self, m):
        """Blocks as their headers say: each is given once."""
        dut, steps, header, config = self.dut, self.steps, self.header, self.dut.config
        word, block = config.word, Signal(Block(config), name="the_block")
        spread = self._spread(m)
        mask, base = Signal(word.block_words), Signal(word.exponent)
        widths = [
            Signal(range(word.bits + 1), name=f"width{group or ''}")
            for group in range(config.block_groups)
        ]
        ones = self.ones
        m.d.comb += [
            mask.eq(spread),
            *(width.eq(self._width(group)) for group, width in enumerate(widths)),
            ones.eq(sum(self.masks.counts) if self.any_parts else sum(mask)),
        ]
        with m.If(header.raw):
            m.d.comb += [width.eq(word.bits) for width in widths]
        if word.is_float:
            self._follow_base(m, base)
        is_due, takes = Signal(), take(m, dut.o, "o")
        self.length = length = Signal.like(self.lengths.length, name="the_length")
        is_coded, is_reserved, control = Signal(), Signal(), Signal.like(header.length)
        with m.If(steps.phase[1] & steps.has_block):
            m.d.sync += [
                is_due.eq(1),
                block.mask.eq(mask),
                *(own.eq(width) for own, width in zip(block.widths, widths, strict=True)),
                block.code.raw.eq(header.raw),
                *(self._code(block.code, base) if word.is_float else ()),
                block.last.eq(steps.is_last),
                block.words.eq(steps.words),
                block.parity.eq(self.ends.packet),
                *(() if self.any_parts else (length.eq(self._length(widths[0])),)),
                *(self._kept_of_repeats(block) if self.repeats else ()),
                control.eq(header.length),
                is_coded.eq(header.coded),
                is_reserved.eq(header.reserved),
            ]
            m.d.comb += [
                Assert(~is_due),
                Cover(widths[0] == word.bits),
                Cover(ones == 3),
            ]
        with m.Elif(takes):
            m.d.sync += is_due.eq(0)
        if self.any_parts:
            with m.If(steps.phase[2]):
                m.d.sync += length.eq(self.lengths.now)
        # What the payload's length is made from.
        with m.If(steps.phase[1] & steps.has_block):
            m.d.comb += [
                *(
                    Assert(count == sum(mask.word_select(group, 4)))
                    for group, count in enumerate(self.masks.counts)
                ),
                *(Assert(a == b) for a, b in zip(self.lengths.widths, widths, strict=True)),
            ]
        m.d.comb += Assert(dut.o.valid == is_due)
        with m.If(is_due):
            m.d.comb += [
                *(
                    Assert(Value.cast(dut.o.payload[name]) == Value.cast(block[name]))
                    for name, _ in Block(config)
                ),
            ]
        if word.is_float:
            m.d.comb += Assert(probe(m, "dut.describe.base", word.exponent) == base)
        elif self.repeats:
            with m.If(steps.phase[3] & steps.has_block):
                widths = self.parts["PayloadMeter"].widths
                m.d.comb += Assert(widths.as_value() == block.widths.as_value())
        # Two cycles behind a step, the check is told of the errors of the control in front of it.
        reports = [steps.phase[3] & steps.has_block]
        for cycle in range(2):
            reports.append(Signal(name=f"reports{cycle}"))
            m.d.sync += reports[-1].eq(reports[-2])
        is_past = is_coded & block.last & ((block.mask >> block.words) != 0)
        is_long = control + length > config.block_bits
        with m.If(reports[-1]):
            m.d.comb += [
                Assert(self.check.is_reserved == is_reserved),
                Assert(self.check.is_past == is_past),
                Assert(self.check.is_long == is_long),
                *(
                    [Assert(self.check.is_many == self.repeats.is_many), Cover(self.check.is_many)]
                    if self.repeats and word.is_float
                    else []
                ),
                Cover(is_reserved),
                Cover(is_past),
                Cover(is_long),
            ]

    def _length(self, width):
        """Bits of a payload of floats: a word that is repeated has no other bit than that."""
        if not self.repeats:
            return self.ones * width
        used, sent, ones = self.header.has_repeats, self.repeats.sent, self.ones
        rest = Mux(used, Mux(sent > ones, 0, ones - sent), ones)[: len(ones)]
        return Mux(used, ones, 0) + rest * width

    def _kept_of_repeats(self, block):
        return [
            block.has_repeats.eq(self.header.has_repeats),
            block.failed.eq(self.ends.failed),
        ]

    def _spread(self, m):
        """The mask of the step before, in a step's second cycle."""
        header, masks, read = self.header, self.masks, self.reader.header
        if not self.any_parts:
            spread = spread_mask(m, header.flags, header.body, header.differences)
            return spread | (header.raw | header.dense).replicate(len(spread))
        m.d.comb += [
            Assert((masks.flags == read.flags) & (masks.differences == read.differences)),
            Assert(masks.body == read.body[: len(masks.body)]),
            Assert(masks.dense == (read.dense | read.raw)),
            Assert(self.lengths.counts.as_value() == masks.counts.as_value()),
        ]
        return masks.was

    def _width(self, group):
        """Bits of a word of a group that is not raw."""
        header, word = self.header, self.dut.config.word
        if not word.is_float:
            return header.widths[group] + header.wide
        return word.mantissa + Mux(header.k == AS_IS, word.exponent, header.k) + header.wide

    def _follow_base(self, m, base):
        """The base of the step's control."""
        steps, read = self.steps, self.reader.header
        with m.If(steps.phase[1] & steps.has_control & steps.is_first):
            m.d.sync += base.eq(0)
        with m.If(steps.phase[3] & steps.has_control & read.coded):
            m.d.sync += base.eq(Mux(read.d == SENT, read.base, base + read.d - SAME))

    def _code(self, code, base):
        """How the words of a block of floats are coded."""
        header = self.header
        as_is = header.raw | (header.k == AS_IS)
        return [
            code.wide.eq(header.wide | header.raw),
            code.k.eq(Mux(header.raw, AS_IS, header.k)),
            code.base.eq(Mux(as_is, 0, base)),
        ]

    def _follow(self, m):
        """Places of controls and payloads."""
        dut, steps, place, check = self.dut, self.steps, self.place, self.check
        at, header = self.at, self.reader.header
        names = ("tail", "end", "behind")
        tail, end, behind = (Signal.like(at, name=f"the_{name}") for name in names)
        names = ("start", "after", "control_end")
        start, after, control_end = (Signal.like(at, name=f"the_{name}") for name in names)
        words = Signal.like(at, name="the_words")
        is_first = steps.has_control & steps.is_first
        m.d.comb += [
            control_end.eq(at + header.length),
            start.eq(Mux(steps.is_tail, tail, control_end)),  # of the payload
            after.eq(start + self.length),
            words.eq(start + (self.repeats.all if self.repeats else 0)),
        ]
        with m.If(steps.phase[3]):
            with m.If(steps.has_control):
                m.d.sync += [
                    behind.eq(control_end),
                    at.eq(Mux(is_first, control_end, after)),
                    tail.eq(Mux(is_first, control_end, after)),
                ]
            with m.If(steps.is_tail):
                m.d.sync += end.eq(after)
        with m.If(steps.starts):
            m.d.sync += at.eq(dut.start_row << BIT_BITS)
        front = dut.o_front.payload
        m.d.comb += Assert(dut.o_front.valid == (steps.phase[3] & steps.has_block))
        sums = self.lengths.sum + self.lengths.carry
        with m.If(dut.o_front.valid):
            reported = Mux(steps.is_tail, tail, at)
            # The payload's reader counts rows at a packet's first payload. That bits of repeats
            # cross into a row is counted only where those of this payload can do so.
            is_short = self.repeats is not None and most_crossed(dut.config) == 1
            counts_rows = steps.is_second if is_short else Const(1)
            rows = words[BIT_BITS:] - reported[BIT_BITS:]
            m.d.comb += [
                Assert(front.bit == words[:BIT_BITS]),
                Assert(
                    Mux(front.wraps, front.slot.rotate_left(1), front.slot)
                    == slot_of(words[BIT_BITS:], dut.depth)
                ),
                Assert(~counts_rows | (front.crosses == rows[: len(front.crosses)])),
                Assert(check.parity == self.ends.packet),
                # Invariant: the place behind the payload.
                Assert((sums - reported - self.length)[: len(at)] == 0),
                Assert(check.tail == reported),
                Assert(check.behind == behind),
            ]
        with m.If(steps.phase[1] & steps.is_end):
            shared = steps.has_control if self.repeats else steps.has_block
            m.d.comb += [Assert(check.tail == end), Cover(shared)]
        # Invariants: places until the step begins.
        is_waiting = steps.phase[0] | steps.phase[1]
        chunk = place.bit >> BIT_BITS - (len(place.chunk) - 1).bit_length()
        with m.If(steps.has_control | steps.is_tail):
            m.d.comb += [
                Assert(place.slot == slot_of(place.row, dut.depth)),
                Assert(place.chunk == 1 << chunk),
            ]
        with m.If(steps.has_control):
            m.d.comb += [
                Assert(Cat(place.bit, place.row) == at),
                Assert(~steps.is_first | (place.bit == 0)),
            ]
        with m.Elif(steps.is_tail):
            m.d.comb += Assert(Cat(place.bit, place.row) == tail)
            if self.repeats:
                m.d.comb += Assert(tail == at)
        with m.If(is_waiting & steps.is_end):
            m.d.comb += Assert(place.tail == end)
        with m.Elif(is_waiting & steps.is_tail):
            m.d.comb += Assert(place.tail == tail)
        with m.If(steps.has_block):
            m.d.comb += Assert(place.behind == behind)
            if self.repeats:
                # A packet begins with a row: its second control, or its tail, is in that row.
                m.d.comb += [
                    Assert(~steps.is_second | (behind[:BIT_BITS] <= window_bits(dut.config))),
                    Assert(~steps.is_second | (behind == Mux(steps.has_control, at, tail))),
                ]
        if self.repeats:
            m.d.comb += [Assert(dut.fails == check.fails), Assert(dut.failing == check.failing)]


def fetch(config: Config) -> ControlFetcher:
    """The fetcher of a unit."""
    return ControlFetcher(config, Decompressor.rows(config))


def follows(size):
    config, any_parts = size
    return FollowsControls(fetch(config), any_parts=any_parts)


SIZES = {
    **{name: (Config(name), False) for name in ("fp32", "bf16")},
    **{f"{name}, any masks and lengths": (Config(name), True) for name in ("fp16", "int8")},
    "fp32-left": (Config("fp32", "left"), False),
    **{
        f"{name}-left, any masks and lengths": (Config(name, "left"), True)
        for name in ("fp16", "int8")
    },
}

PROOFS = (
    Proof(
        name="control_fetcher",
        promise="Each control is read behind the last, and gives its block and its payload's place",
        components=(ControlFetcher,),
        design=follows,
        sizes=SIZES,
        slow=tuple(SIZES),
        depth=6,
        broken=(
            *faults(
                SIZES["fp32"],
                12,
                stuck_at(0, "dut.is_due"),
                late("dut.describe.base"),
                inverted("dut.place.added", 8),
                stuck_at(0, "dut.payload.count0", 1),
            ),
            *faults(
                (Config("int8"), True),
                12,
                inverted("dut.describe.widths", 5),
                stuck_at(0, "dut.place.added", 8),
            ),
            *faults(
                (Config("fp32", "left"), True),
                14,
                stuck_at(0, "dut.o_repeats__payload", 3),
                late("dut.place.skipped"),
                stuck_at(0, "dut.describe.failed"),
            ),
        ),
    ),
)
