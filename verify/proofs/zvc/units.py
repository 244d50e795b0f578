"""Round trip: the decompressor returns every word that enters the compressor."""

from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import wiring

from cdma.format import ErrorCode
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import unit as decompressor
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import BOUNDED, Proof, faults, swapped
from cdma.verify.proofs.zvc.compressor.intake import fix_zero
from cdma.verify.proofs.zvc.compressor.unit import OmitsZeros
from cdma.verify.proofs.zvc.network import FillsZeros

COUNT = 6  # bits of the counters of packets and beats: they do not overflow within the bound
PACKETS = 4


class ComesBack(Elaboratable):
    """A word of one of four packets, picked at the input, comes back in its beat and lane.

    Packets have any length up to three blocks, and no more beats than their words need. With
    stalls, commands and words arrive at any time. Without stalls, they are always valid. Both units
    have one zero value, any one at ports. Where -0.0 is folded, it comes back as 0.0.
    """

    def __init__(self, compressor, decompressor, *, stalls=True):
        self.compressor = compressor
        self.decompressor = decompressor
        self.stalls = stalls

    def elaborate(self, platform):
        m = Module()
        m.submodules.compressor = into = self.compressor
        m.submodules.decompressor = back = self.decompressor
        wiring.connect(m, into.o, back.i)
        fix_zero(m, into, back)
        lanes, size = into.config.lanes, into.config.format.word_bytes
        lengths = [Signal(range(3 * into.config.format.block_words + 1)) for _ in range(PACKETS)]
        m.d.comb += [length.eq(AnyConst(len(length))) for length in lengths]
        lengths_now = Array(lengths)

        # Packets and their commands; with a tail of ones there are none.
        has_commands = not into.config.format.ends_itself
        enters = offer(m, into.i, "i")
        leaves, reports = take(m, back.o, "o"), take(m, back.o_status, "o_status")
        take(m, into.o_status, "size")
        if not self.stalls:
            taken = (into.o_status, back.o, back.o_status)
            m.d.comb += Assume(into.i.valid)
            m.d.comb += [Assume(port.ready) for port in taken]
        entered, left, packet = (Signal(COUNT, name=name) for name in ("entered", "left", "packet"))
        sent = Signal.like(lengths[0])  # words of the packet
        beat = into.i.payload
        rest = Signal.like(sent)
        m.d.comb += rest.eq(lengths_now[packet[:2]] - sent)
        with m.If(into.i.valid):
            kept = thermometer(rest, lanes)
            m.d.comb += [
                Assume(packet < PACKETS),
                Assume(beat.last == (rest <= lanes)),
                *(Assume(keep == kept[k // size]) for k, keep in enumerate(beat.keep)),
            ]
        if has_commands:
            self._command(m, back.i_command, lengths_now)
        m.d.sync += [entered.eq(entered + enters), left.eq(left + leaves)]
        with m.If(enters):
            m.d.sync += [
                sent.eq(Mux(beat.last, 0, sent + lanes)),
                packet.eq(packet + beat.last),
            ]

        # The picked word.
        lane = Signal(range(lanes))
        m.d.comb += lane.eq(AnyConst(len(lane)))
        is_picked, number, word = Signal(), Signal.like(entered), Signal.like(beat.words[0])
        is_kept, is_last = Signal(), Signal()
        with m.If(enters & ~is_picked & anything(m, 1, "pick")):
            m.d.sync += [
                is_picked.eq(1),
                number.eq(entered),
                is_kept.eq(beat.keep.bit_select(lane * size, 1)),
                word.eq(beat.words[lane]),
                is_last.eq(beat.last),
            ]
        out = back.o.payload
        m.d.comb += Assert(~leaves | (left != entered))
        with m.If(leaves & is_picked & (left == number)):
            m.d.comb += [
                Assert(out.keep.word_select(lane, size) == is_kept.replicate(size)),
                Assert(out.words[lane] == Mux(is_kept, self._given_back(word), 0)),
                Assert(out.last == is_last),
                Cover((word != 0) & is_kept & (number > 1)),
                Cover((word == 0) & is_kept & is_last & (number > 1)),
            ]
        with m.If(reports):
            m.d.comb += Assert(back.o_status.payload.error == ErrorCode.NONE)
        return m

    def _given_back(self, word):
        """The word that comes back for a word."""
        if not self.compressor.config.format.fold_negative_zero:
            return word
        return Mux(word == 1 << (len(word) - 1), 0, word)

    def _command(self, m, port, lengths):
        """The lengths of the packets, as commands."""
        commands, commanded = offer(m, port, "i_command"), Signal(COUNT, name="commanded")
        m.d.sync += commanded.eq(commanded + commands)
        if not self.stalls:
            m.d.comb += Assume(port.valid)
        with m.If(port.valid):
            m.d.comb += [
                Assume(commanded < PACKETS),
                Assume(port.payload.words == lengths[commanded[:2]]),
            ]


SMALL, SMALL_CELLS = Config.of(2, 8, 8), Config.parse("2x8b8-asic")
ENDS_ITSELF, ENDS_ITSELF_CELLS = Config.parse("2x8b8-ones"), Config.parse("2x8b8-ones-asic")


#: What is omitted is not zero only.
OPTIONS = [Config.parse(f"2x8b8{option}") for option in ("-z80", "-zport", "-fold")]
ENDS_ITSELF_OPTIONS = [Config.parse(f"2x8b8-ones{option}") for option in ("-zport", "-fold")]


class GivesZeros(Decompressor):
    """Gives zeros for omitted words, whatever these are."""

    def elaborate(self, platform):
        with mock.patch.object(decompressor, "Expander", FillsZeros):
            return super().elaborate(platform)


def comes_back(size, into=Compressor, back=Decompressor):
    config, stalls = size
    return ComesBack(into(config), back(config), stalls=stalls)


def wrong_zeros(*configs):
    """Units, of which one omits or gives zeros only."""
    wrong = {}
    for config in configs:
        size = config, False
        wrong[f"zeros are omitted at {config.name}"] = lambda size=size: comes_back(
            size, into=OmitsZeros
        )
        if config.fills:
            wrong[f"zeros come back at {config.name}"] = lambda size=size: comes_back(
                size, back=GivesZeros
            )
    return swapped(20, wrong)


def with_stalls(*configs):
    return {config.name: (config, True) for config in configs}


PROOFS = (
    Proof(
        name="round_trip",
        promise="Compression and decompression return each word, with any stalls",
        components=(Compressor, Decompressor),
        design=comes_back,
        sizes=with_stalls(SMALL, SMALL_CELLS, *OPTIONS),
        slow=tuple(config.name for config in (SMALL, SMALL_CELLS, *OPTIONS)),
        mode=BOUNDED,
        depth=15,
        broken=(
            *faults((SMALL, False), 20, stuck_at(1, "compressor.block.mask", 3)),
            *wrong_zeros(*OPTIONS),
        ),
    ),
    Proof(
        name="round_trip_no_stalls",
        promise="Compression and decompression return each word, without stalls",
        components=(Compressor, Decompressor),
        design=comes_back,
        sizes={SMALL.name: (SMALL, False)},
        slow=(SMALL.name,),
        mode=BOUNDED,
        depth=18,
        broken=faults((SMALL, False), 20, stuck_at(1, "decompressor.expander.mask", 0)),
    ),
    Proof(
        name="round_trip_without_counts",
        promise="With a tail of ones, each word comes back without a command, with any stalls",
        components=(Compressor, Decompressor),
        design=comes_back,
        sizes=with_stalls(ENDS_ITSELF, ENDS_ITSELF_CELLS, *ENDS_ITSELF_OPTIONS),
        slow=tuple(
            config.name for config in (ENDS_ITSELF, ENDS_ITSELF_CELLS, *ENDS_ITSELF_OPTIONS)
        ),
        mode=BOUNDED,
        depth=15,
        broken=(
            *faults((ENDS_ITSELF, False), 20, stuck_at(0, "decompressor.packet_end.missing", 1)),
            *wrong_zeros(*ENDS_ITSELF_OPTIONS),
        ),
    ),
)
