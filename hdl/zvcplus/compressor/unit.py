"""The ZVC+ compressor."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS, Beat, CompressorStatus, thermometer
from cdma.hdl.zvc.output import PacketOutput
from cdma.hdl.zvcplus.compressor.assembler import BitAssembler
from cdma.hdl.zvcplus.compressor.control import ControlCoder, ControlRotator
from cdma.hdl.zvcplus.compressor.fields import FloatFields
from cdma.hdl.zvcplus.compressor.intake import BlockIntake
from cdma.hdl.zvcplus.compressor.issue import ItemIssue
from cdma.hdl.zvcplus.compressor.merger import RowMerger
from cdma.hdl.zvcplus.compressor.place import BitPlacer, Place
from cdma.hdl.zvcplus.compressor.planner import FloatPlanner
from cdma.hdl.zvcplus.compressor.records import RAW, SENT, BlockPlan
from cdma.hdl.zvcplus.compressor.report import StreamReport
from cdma.hdl.zvcplus.compressor.survey import FloatSurvey
from cdma.hdl.zvcplus.config import Config, checked
from cdma.hdl.zvcplus.network import BitPacker

#: Plans that wait: of the block that is sent, of the next, and two more for packets of a beat.
PLANS = 4
#: Cycles from the issue of a beat until its words are read: they become fields while the beat gets
#: its place.
_READ = BitPlacer.LATENCY + 1 - FloatFields.LATENCY


class Compressor(wiring.Component):
    """Turn packets of words into packets of their ZVC+ stream (``docs/zvcplus.md``).

    Beats wait until their block and the block behind are planned. Then each beat is issued, with
    the control of the next block if it is the first of its block. Fields and controls get their
    places, a network of bits brings the fields there, and the assembler makes rows of both.

    Throughput one beat a cycle on the side that has more of them: a block costs the larger of its
    input beats and its bits over 256. Latency see :meth:`latency`. ``i.ready`` comes from registers
    through two gates, the output beat from registers.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of words; ``keep`` by whole words
    o : Out stream of :class:`~cdma.hdl.zvc.beat.Beat`, packets of the stream's bytes
    o_status : Out stream of :class:`~cdma.hdl.zvc.beat.CompressorStatus`, one after each packet's
        last beat
    """

    i: stream.Interface
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: Config):
        self.config = checked(config)
        if not config.word.is_float:
            raise ValueError(f"Element type of a compressor must be a float, not {config.type!r}")
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Beat(config.stream_side))),
                "o_status": Out(stream.Signature(CompressorStatus())),
            }
        )

    @staticmethod
    def planning(config: Config) -> int:
        """Cycles from the last beat of a block in to the issue of its control."""
        return FloatSurvey.latency(config) + FloatPlanner.LATENCY + 1

    @staticmethod
    def rows(config: Config) -> int:
        """Beats that wait for their place: of their block, of the next, and while that is
        planned."""
        return 2 * config.block_beats - 1 + Compressor.planning(config) + _READ

    @staticmethod
    def latency(config: Config) -> int:
        """The most by which packets take longer than their beats: a packet's last block waits
        for its plan, then its beats follow those of the block before, and pass the unit. One more
        row may follow the last beat."""
        sent = BitPlacer.LATENCY + 1 + BitPacker.latency(config.lanes, config.word.bits)
        return Compressor.planning(config) + 2 * config.block_beats - 1 + sent + 3

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.intake = intake = BlockIntake(config, self.rows(config))
        m.submodules.survey = survey = FloatSurvey(config)
        m.submodules.planner = planner = FloatPlanner(config)
        m.submodules.plans = plans = Queue(BlockPlan(config), PLANS)
        m.submodules.issue = issue = ItemIssue(config)
        m.submodules.merger = merger = RowMerger(config)
        m.submodules.output = output = PacketOutput(config.stream_side, CompressorStatus())
        m.submodules.report = report = StreamReport(config)
        wiring.connect(m, wiring.flipped(self.i), intake.i)
        wiring.connect(m, wiring.flipped(self.o), output.o)
        wiring.connect(m, wiring.flipped(self.o_status), output.o_status)

        # Beats come in and are surveyed for as long as there is space for plans.
        plan_enable = plans.i.ready
        m.d.comb += [
            intake.enable.eq(plan_enable),
            survey.enable.eq(plan_enable),
            survey.valid.eq(intake.accept),
            survey.words.eq(intake.words),
            survey.index.eq(intake.index),
            survey.extent.eq(intake.extent),
            survey.end.eq(intake.end),
            planner.enable.eq(plan_enable),
            planner.valid.eq(survey.o_valid),
            planner.stats.eq(survey.o),
            plans.i.valid.eq(planner.o_valid),
            plans.i.payload.eq(planner.o),
            plans.o.ready.eq(issue.leaves),
            issue.enable.eq(merger.enable),
            issue.plans.eq(plans.entries.as_value()[: len(issue.plans.as_value())]),
            issue.valid.eq(plans.valid),
        ]
        assembler = self._send(m, issue, intake, merger.enable)
        m.d.comb += [
            merger.rows.eq(assembler.rows),
            merger.has_row.eq(assembler.has_row),
            merger.completes.eq(assembler.completes),
            output.i.valid.eq(merger.o.valid),
            merger.o.ready.eq(output.i.ready),
            output.i.payload.words.eq(merger.o.payload.bits),
            output.i.payload.last.eq(merger.o.payload.last),
            output.i.payload.keep.eq(
                thermometer(merger.o.payload.bytes, config.beat_bytes)
                | (~merger.o.payload.last).replicate(config.beat_bytes)
            ),
            output.i_status.eq(report.status),
            report.enable.eq(output.i.valid & output.i.ready),
            report.row.eq(merger.o.payload),
        ]
        return m

    def _send(self, m, issue, intake, enable):
        """The pipeline from an item to its rows; gives the assembler."""
        config, item = self.config, issue.o
        m.submodules.placer = placer = BitPlacer(config)
        m.submodules.network = network = BitPacker(config.lanes, config.word.bits)
        m.submodules.assembler = assembler = BitAssembler(config)
        # Tags of the item: beside the placer, then with the place to the assembler, in two parts.
        m.submodules.tags = tags = DelayLine(_Tags(config), BitPlacer.LATENCY)
        behind = network.latency(config.lanes, config.word.bits) - 1
        m.submodules.placed = placed = DelayLine(_Placed(config), behind)
        m.submodules.lands = lands = DelayLine(_Placed(config), 1)
        m.submodules.words = words = Counter(COUNT_BITS, len(item.words))
        m.d.comb += [each.enable.eq(enable) for each in (placer, network, assembler)]
        m.d.comb += [each.enable.eq(enable) for each in (tags, placed, lands)]
        has_control = item.has_control & issue.o_valid
        width = _width(item.block, config)
        is_first = Signal(init=1)  # the item begins a packet
        with m.If(enable & lands.o_valid):
            m.d.sync += is_first.eq(lands.o.tags.last)
        m.d.comb += [
            placer.valid.eq(issue.o_valid),
            placer.mask.eq(item.mask),
            placer.widths[0].eq(width),
            placer.widths[1].eq(width),
            placer.control_bits.eq(Mux(has_control, item.control.bits, 0)),
            placer.is_after.eq(item.is_after),
            placer.last.eq(item.last),
            tags.i_valid.eq(issue.o_valid),
            tags.i.is_after.eq(has_control & item.is_after),
            tags.i.last.eq(item.last),
            tags.i.words.eq(Mux(item.has_payload, item.words, 0)),
            placed.i_valid.eq(placer.o_valid),
            placed.i.tags.eq(tags.o),
            placed.i.place.eq(placer.place),
            lands.i_valid.eq(placed.o_valid),
            lands.i.eq(placed.o),
            network.starts.eq(placer.starts),
            network.words.eq(self._fields(m, issue, intake, enable)),
            words.enable.eq(enable & lands.o_valid),
            words.restart.eq(is_first),
            words.step.eq(lands.o.tags.words),
            assembler.valid.eq(lands.o_valid),
            assembler.place.eq(lands.o.place),
            assembler.is_after.eq(lands.o.tags.is_after),
            assembler.last.eq(lands.o.tags.last),
            assembler.words.eq(words.value),
            assembler.payload.eq(network.bits),
            assembler.control.eq(self._controls(m, has_control, item, placed.o, enable)),
        ]
        return assembler

    def _fields(self, m, issue, intake, enable):
        """Fields of the words of an item, when they have their places."""
        config, block = self.config, issue.o.block
        m.submodules.coding = coding = DelayLine(_Coding(config), _READ)
        m.submodules.fields = fields = FloatFields(config)
        m.d.comb += [
            coding.enable.eq(enable),
            coding.i_valid.eq(issue.o_valid & issue.o.has_payload),
            coding.i.base.eq(block.base),
            coding.i.k.eq(block.k),
            coding.i.is_raw.eq(block.kind == RAW),
            intake.reads.eq(enable & coding.o_valid),
            fields.enable.eq(enable),
            fields.words.eq(intake.head),
            fields.base.eq(coding.o.base),
            fields.k.eq(coding.o.k),
            fields.is_raw.eq(coding.o.is_raw),
        ]
        return fields.fields

    def _controls(self, m, has_control, item, placed, enable):
        """Controls at their places, when the fields are there."""
        config = self.config
        m.submodules.coder = coder = ControlCoder(config)
        m.submodules.rotator = rotator = ControlRotator(config)
        m.d.comb += [
            coder.enable.eq(enable),
            coder.valid.eq(has_control),
            coder.plan.eq(item.control),
            rotator.enable.eq(enable),
            rotator.control.eq(coder.bits),
            # The first control of the next packet begins a row.
            rotator.at.eq(Mux(placed.tags.last & placed.tags.is_after, 0, placed.place.at[:8])),
        ]
        return rotator.bits


def _width(block, config: Config):
    """Bits of a word that is sent."""
    word = config.word
    offset = Mux(block.k == SENT, word.exponent, block.k)
    return Mux(block.kind == RAW, word.bits, word.mantissa + offset + block.is_wide)


class _Tags(data.StructLayout):
    """Data that accompanies an item."""

    def __init__(self, config: Config):
        super().__init__({"is_after": 1, "last": 1, "words": range(config.lanes + 1)})


class _Placed(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"tags": _Tags(config), "place": Place(config)})


class _Coding(data.StructLayout):
    """How the words of an item are coded."""

    def __init__(self, config: Config):
        super().__init__({"base": config.word.exponent, "k": 3, "is_raw": 1})
