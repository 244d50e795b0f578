"""The compressor."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready
from cdma.hdl.zvc.beat import Beat, CompressorStatus
from cdma.hdl.zvc.compressor.assembly.assembler import Assembler
from cdma.hdl.zvc.compressor.assembly.place import Place
from cdma.hdl.zvc.compressor.block import BlockMask
from cdma.hdl.zvc.compressor.intake import Intake
from cdma.hdl.zvc.compressor.issue import IssueControl
from cdma.hdl.zvc.compressor.placer import Placed, Placer
from cdma.hdl.zvc.compressor.report import CompressorReport
from cdma.hdl.zvc.config import Config, checked
from cdma.hdl.zvc.network import Compactor
from cdma.hdl.zvc.output import PacketOutput


class Compressor(wiring.Component):
    """Turn packets of words into packets of their zero-value-compressed stream.

    Beats wait until the mask of their block is complete. Meanwhile their non-zero words are counted
    and get their places in the stream. Then one cyclic butterfly brings the words of a beat to
    their banks, and the assembler appends them to the mask.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its stream words over ``lanes``, for any data. Latency see :meth:`latency`.
    ``i.ready`` comes from registers through one gate, the output beat through a multiplexer.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    zero : In, with ``config.zero_port``: the word that is omitted, in each cycle with a beat
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words; ``keep`` by whole words
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of the stream's bytes
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.CompressorStatus`, one after each packet's
        last beat
    """

    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface
    zero: Signal

    def __init__(self, config: Config):
        self.config = checked(config)
        super().__init__(
            {
                **({"zero": In(config.format.word_bits)} if config.zero_port else {}),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    @staticmethod
    def pause(config: Config) -> int:
        """Cycles that a packet may take beyond its beats before the next can flow: none."""
        return 0

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a packet's first beat in to its first beat out, both included, when its first
        block is whole; and the most by which a packet takes longer than its beats."""
        network = Compactor.latency(config.lanes, ends_registered=not config.is_asic)
        return Intake.latency(config) + network + Assembler.LATENCY

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, word_bits, rows = config.lanes, config.format.word_bits, Intake.rows(config)
        m.submodules.intake = intake = Intake(config)
        m.submodules.placer = placer = Placer(config)
        m.submodules.place_queue = placed = Queue(Placed(config), rows, pipe=True)
        m.submodules.control = issue = IssueControl(rows)
        m.submodules.block = block = BlockMask(config)
        # In standard cells a stage of words costs more than the longer path behind the network.
        ends = {"ends_registered": not config.is_asic}
        m.submodules.network = network = Compactor(lanes, word_bits, **ends)
        stages = network.latency(lanes, **ends) - 1
        m.submodules.beside = beside = DelayLine(_Beside(config), stages)
        m.submodules.assembler = assembler = Assembler(config)
        m.submodules.output = output = PacketOutput(config, CompressorStatus())
        m.submodules.report = report = CompressorReport(config)
        if config.zero_port:
            m.d.comb += intake.zero.eq(self.zero)
        wiring.connect(m, wiring.flipped(self.i), intake.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)

        # A beat gets its place while it waits.
        m.d.comb += [
            placer.valid.eq(intake.accept),
            placer.mask.eq(intake.mask),
            placer.keep.eq(intake.keep),
            placer.first.eq(intake.first),
            placer.last.eq(intake.last),
            placed.i.valid.eq(placer.o_valid),
            placed.i.payload.eq(placer.o),
            placed.o.ready.eq(issue.issue),
        ]
        assert_ready(m, platform, placed.i)

        # It is issued with its words, its place and its block's mask.
        m.d.comb += [
            issue.enable.eq(assembler.enable),
            issue.ends.eq(Cat(part.end for part in intake.parts) & intake.valid),
            issue.is_full.eq(intake.valid[-1]),
            issue.offers_end.eq(intake.offers_end),
            issue.placed.eq(placed.valid),
            issue.places.eq(placer.o_valid),
            intake.issue.eq(issue.issue),
            block.parts.eq(intake.parts),
            network.enable.eq(assembler.enable),
            network.words.eq(intake.words),
            network.routes.eq(placed.o.payload.routes),
            beside.enable.eq(assembler.enable),
            beside.i_valid.eq(issue.may_issue if config.is_asic else issue.issue),
        ]
        self._describe(m, beside.i, placed.o.payload.place, block, issue.issue)

        if config.is_asic:
            m.d.comb += assembler.closes.eq(beside.o.closes)

        # It lands after the beats before, and full rows leave.
        m.d.comb += [
            assembler.valid.eq(beside.o_valid),
            assembler.place.eq(beside.o.place),
            assembler.first.eq(beside.o.first),
            assembler.mask.eq(beside.o.mask),
            assembler.kept.eq(beside.o.kept),
            assembler.bank_words.eq(network.bank_words),
            output.i.valid.eq(assembler.o.valid),
            output.i.payload.eq(assembler.o.payload.row),
            assembler.o.ready.eq(output.i.ready),
            report.enable.eq(output.i.valid & output.i.ready),
            report.row.eq(assembler.o.payload),
            output.i_status.eq(report.status),
        ]
        return m

    def _describe(self, m, beside, place, block, issue):
        """Data that accompanies the words of the issued beat."""
        # A packet may end with beats of nothing but zeros. Where its stream ends with a full row
        # before them, that row is the packet's last, and the rows that they complete do not exist.
        is_asic, is_closed, closes = self.config.is_asic, Signal(), Signal()
        mask_words = Mux(place.has_mask, self.config.format.mask_words, 0)
        m.d.comb += [
            closes.eq(block.last & block.is_zero_behind & place.is_full),
            beside.mask.eq(block.mask),
            beside.kept.eq(Mux(place.has_mask, block.words, 0)),
            beside.first.eq(place.lane + mask_words),
            beside.place.eq(place),
            beside.place.last.eq((place.last if is_asic else place.last | closes) & ~is_closed),
            beside.place.rows.eq(Mux(is_closed, 0, place.rows)),
        ]
        if is_asic:
            m.d.comb += beside.closes.eq(closes & ~is_closed)
        with m.If(issue):
            m.d.sync += is_closed.eq((closes | is_closed) & ~place.last)


class _Beside(data.StructLayout):
    """Data that accompanies a beat's words through the network."""

    def __init__(self, config: Config):
        block_words = config.format.block_words
        super().__init__(
            {
                "mask": block_words,
                "kept": range(block_words + 1),
                "place": Place(config),
                **({"closes": 1} if config.is_asic else {}),
                "first": range(config.lanes + config.format.mask_words),
            }
        )
