"""The compressor: the output stream contains every input word at the place of the format."""

from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.compressor import unit
from cdma.hdl.zvc.compressor.issue import IssueControl
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything, goes_on, offer, take
from cdma.verify.proofs.proof import BOUNDED, Proof, faults, named, swapped
from cdma.verify.proofs.zvc.compressor.intake import OnlyZeros, drive_zero, is_omitted

COUNT = 7  # bits of the counters of rows, words and packets: they do not overflow within the bound


class Counted(Elaboratable):
    """Base of the benches: counts the stream places of the input and the beats of the output.

    The place of a word is an output beat and a lane. A packet begins with a new beat.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.lane_bits = dut.config.lanes.bit_length() - 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        self.zero = drive_zero(m, dut)
        self._count_in(m, offer(m, dut.i, "i"))
        self.leaves = take(m, dut.o, "o")
        self.reports = take(m, dut.o_status, "o_status")
        self.rows, self.ended, self.reported = (
            Signal(COUNT, name=name) for name in ("rows", "ended", "reported")
        )
        m.d.sync += [
            self.rows.eq(self.rows + self.leaves),
            self.ended.eq(self.ended + (self.leaves & dut.o.payload.last)),
            self.reported.eq(self.reported + self.reports),
        ]
        self.check(m)
        return m

    def place(self, name):
        """Place of a word of the stream: output beat in the upper bits, lane in the lower bits."""
        return Signal(COUNT + self.lane_bits, name=name)

    def _count_in(self, m, accept):
        """Update the place of the next word of the stream with each input beat."""
        beat, lanes, fmt = self.dut.i.payload, self.config.lanes, self.config.format
        keep = beat.keep[:: fmt.word_bytes]
        with m.If(self.dut.i.valid & beat.last):
            m.d.comb += Assume((keep & (keep + 1)) == 0)  # contiguous from lane 0
        self.accept, self.last = accept, beat.last
        self.kept, self.non_zero = Signal(lanes), Signal(lanes)
        m.d.comb += self.kept.eq(Mux(beat.last, keep, ~0))
        m.d.comb += [
            self.non_zero[k].eq(self.kept[k] & ~is_omitted(beat.words[k], self.zero, self.config))
            for k in range(lanes)
        ]

        place, block_place = self.place("place"), self.place("block_place")
        start = self.place("start")  # start of the packet
        words = Signal(COUNT)  # words of the packet
        self.packets = Signal(COUNT)
        self.block_beat = Signal(range(self.config.block_beats))
        begins_block = self.block_beat == 0
        self.mask_at, self.first, self.after, self.end = (
            self.place(name) for name in ("mask_at", "first", "after", "end")
        )
        self.words_after, self.size = Signal(COUNT), self.place("size")
        # The unit cannot predict an empty last beat after a whole block. If the stream already
        # ends with a full beat, the empty last beat costs one output beat.
        is_surprise = begins_block & ~self.kept[0]
        m.d.comb += [
            self.mask_at.eq(Mux(begins_block, place, block_place)),
            self.first.eq(place + Mux(begins_block & self.kept[0], fmt.mask_words, 0)),
            self.after.eq(self.first + popcount(m, self.non_zero)),
            self.end.eq((self.after + is_surprise + lanes - 1) & ~(lanes - 1)),
            self.words_after.eq(words + popcount(m, self.kept)),
            self.size.eq(self.after - start),
        ]
        with m.If(accept):
            ends_block = beat.last | (self.block_beat == self.config.block_beats - 1)
            m.d.sync += [
                place.eq(Mux(beat.last, self.end, self.after)),
                block_place.eq(self.mask_at),
                self.block_beat.eq(Mux(ends_block, 0, self.block_beat + 1)),
                words.eq(Mux(beat.last, 0, self.words_after)),
                self.packets.eq(self.packets + beat.last),
            ]
            with m.If(beat.last):
                m.d.sync += start.eq(self.end)
        # All words and masks of the stream before this output beat have entered.
        self.known = Signal(COUNT)
        m.d.comb += self.known.eq(Mux(begins_block, place, block_place) >> self.lane_bits)


class Words(Counted):
    """A word of any packet, picked at the input, and its mask bit are where the format says."""

    def check(self, m):
        fmt, lanes, lane_bits = self.config.format, self.config.lanes, self.lane_bits
        lane, index = Signal(lane_bits), Signal(range(fmt.block_words))
        m.d.comb += [lane.eq(AnyConst(lane_bits)), index.eq(self.block_beat * lanes + lane)]
        is_picked, is_non_zero = Signal(), Signal()
        word, bit = Signal(fmt.word_bits), Signal(range(fmt.word_bits))
        word_place, bit_place = self.place("word_place"), self.place("bit_place")
        with m.If(
            anything(m, 1, "pick") & self.accept & self.kept.bit_select(lane, 1) & ~is_picked
        ):
            m.d.sync += [
                is_picked.eq(1),
                is_non_zero.eq(self.non_zero.bit_select(lane, 1)),
                word.eq(self.dut.i.payload.words[lane]),
                word_place.eq(
                    self.first
                    + popcount(m, [Mux(k < lane, self.non_zero[k], 0) for k in range(lanes)])
                ),
                bit_place.eq(self.mask_at + index // fmt.word_bits),
                bit.eq(index % fmt.word_bits),
            ]
        out = self.dut.o.payload
        at = word_place[:lane_bits]
        with m.If(self.leaves & is_picked & is_non_zero & (word_place[lane_bits:] == self.rows)):
            m.d.comb += [
                Assert(out.words[at] == word),
                Assert(out.keep.word_select(at, fmt.word_bytes).all()),
                Cover((self.ended != 0) & (word_place > bit_place + lanes)),
            ]
        with m.If(self.leaves & is_picked & (bit_place[lane_bits:] == self.rows)):
            mask_word = out.words[bit_place[:lane_bits]]
            m.d.comb += Assert(mask_word.bit_select(bit, 1) == is_non_zero)


class Packets(Counted):
    """A packet, picked at its end, has the expected beats, bytes and status."""

    def check(self, m):
        fmt, lanes, lane_bits = self.config.format, self.config.lanes, self.lane_bits
        is_picked = Signal()
        picks = anything(m, 1, "pick") & self.accept & self.last & ~is_picked
        picked = {}
        for name in ("packets", "end", "size", "words_after"):
            value = getattr(self, name)
            picked[name] = Signal.like(value, name=f"picked_{name}")
            with m.If(picks):
                m.d.sync += [picked[name].eq(value), is_picked.eq(1)]

        out, keep = self.dut.o.payload, self.dut.o.payload.keep
        kept = keep[:: fmt.word_bytes]
        with m.If(self.leaves):
            m.d.comb += [
                Assert((keep & (keep + 1)) == 0),
                Assert(out.last | keep.all()),
                *(Assert(keep[k] == kept[k // fmt.word_bytes]) for k in range(len(keep))),
                *(Assert(kept[k] | (out.words[k] == 0)) for k in range(lanes)),
            ]
        with m.If(self.leaves & is_picked & (self.ended == picked["packets"])):
            is_end = self.rows + 1 == picked["end"][lane_bits:]
            rest = picked["size"][:lane_bits]
            count = Mux((rest == 0) & (picked["size"] != 0), lanes, rest)
            m.d.comb += Assert(out.last == is_end)
            with m.If(is_end):
                m.d.comb += Cover(picked["packets"] == 2)
                # An empty beat may follow a full beat.
                m.d.comb += Assert((popcount(m, kept) == count) | ((rest == 0) & (kept == 0)))

        status = self.dut.o_status.payload
        m.d.comb += Assert(~self.reports | (self.reported != self.ended))
        with m.If(self.reports & is_picked & (self.reported == picked["packets"])):
            m.d.comb += [
                Assert(status.words == picked["words_after"]),
                Assert(status.bytes == picked["size"] * fmt.word_bytes),
                Cover((self.reported == 1) & (status.words > lanes)),
            ]


class Moves(Counted):
    """No beat leaves before its words entered. Without stalls at the ports, the unit sends known
    beats and accepts input beats, each within its latency."""

    def check(self, m):
        dut = self.dut
        m.d.comb += Assert(~self.leaves | (self.rows < self.known))
        goes_on(
            m,
            willing=dut.o.ready & dut.o_status.ready & ((self.rows != self.known) | dut.i.valid),
            moves=self.leaves | self.accept,
            most=Compressor.latency(self.config),
            status=dut.o_status,
            owed=self.ended - self.reported,
        )
        m.d.comb += Cover((self.reported == 2) & (self.rows > 4))


#: Sizes with the full structure of the unit, small enough for a bound of a dozen cycles.
SMALL = Config.of(2, 8, 8)
SIZES = named(SMALL, Config.of(4, 8, 8), Config.parse("2x8b8-asic"))
#: What is omitted is not zero only; a partial block's mask ends in ones.
OPTIONS = [Config.parse(f"2x8b8{option}") for option in ("-zport", "-fold", "-ones-z80-asic")]


class OmitsZeros(Compressor):
    """Omits zeros, whatever its configuration says."""

    def elaborate(self, platform):
        with mock.patch.object(unit, "Intake", OnlyZeros):
            return super().elaborate(platform)


def about(name, promise, harness, depth, *forced, options=()):
    """A proof of the whole unit. ``forced`` are the faults it must refute."""
    sizes = SIZES | named(*options)
    return Proof(
        name=name,
        promise=promise,
        components=(Compressor,),
        parts=(IssueControl,),
        design=lambda config: harness(Compressor(config)),
        sizes=sizes,
        slow=tuple(sizes),
        mode=BOUNDED,
        depth=depth,
        broken=(
            *faults(SMALL, 12, *forced),
            *swapped(
                12,
                {
                    f"zero is omitted at {config.name}": lambda config=config: harness(
                        OmitsZeros(config)
                    )
                    for config in options
                },
            ),
        ),
    )


PROOFS = (
    about(
        "compressor_words",
        "Each word is in the stream if and only if it is not omitted, and its mask bit agrees",
        Words,
        11,
        stuck_at(1, "dut.block.mask", 3),
        stuck_at(0, "dut.intake.block_beat", 1),
        options=OPTIONS,
    ),
    about(
        "compressor_packets",
        "Each packet has the expected beats, bytes and status",
        Packets,
        11,
        stuck_at(1, "dut.report.rest", 0),
        stuck_at(1, "dut.report.rows_out.step"),
        stuck_at(0, "dut.closes"),
        options=OPTIONS,
    ),
    about(
        "compressor_moves",
        "No word leaves before it entered and, without stalls, each leaves within the latency",
        Moves,
        13,
        stuck_at(0, "dut.control.may_issue"),
    ),
)
