"""The proofs for mutants of the units of ZVC+, for floats without repeats.

What lies between components has no bench: its mutants stay open.
"""

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus, DecompressorCommand
from cdma.hdl.zvcplus.compressor.line import ElasticLine
from cdma.hdl.zvcplus.compressor.plain.coder import PlainCoder
from cdma.hdl.zvcplus.compressor.plain.counter import FieldCounter
from cdma.hdl.zvcplus.compressor.plain.planner.step import StepPlanner
from cdma.hdl.zvcplus.compressor.plain.records import BlockCoding, BlockPlan, LineBeat
from cdma.hdl.zvcplus.compressor.unit import Compressor
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import ROW_STEP_BITS
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, PayloadPlace
from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.proofs.bench import Bench
from cdma.verify.proofs.lib.counter import Leaves, Sums
from cdma.verify.proofs.lib.delay import Delays
from cdma.verify.proofs.lib.queue import KeepsOrder
from cdma.verify.proofs.zvcplus.decompressor.window import window
from cdma.verify.proofs.zvcplus.line import MovesOn

#: Seconds of a full proof by ABC of a component whose payload is wide.
SECONDS = 120


def benches(unit: str, config: Config) -> dict[str, Bench]:
    """Benches by the path of the component in the unit.

    Raises
    ------
    ValueError
        When the unit is not for floats without repeats.
    """
    if Compressor.coder(config) is not PlainCoder:
        raise ValueError(f"Config must be of floats without repeats, not {config.name}")
    return _compressor() if unit == "compressor" else _decompressor()


def _compressor():
    return {
        "core.coder.intake": Bench("zvcplus/block_intake", _type),
        "core.coder.line": _wide("zvcplus/elastic_line", _line, 10),
        "core.coder.survey": Bench("zvcplus/step_survey", _type),
        "core.coder.survey.range": Bench("zvcplus/paired_range", _type),
        "core.coder.survey.masks": Bench("zvcplus/mask_tally", _type),
        "core.coder.planner": Bench("zvcplus/step_planner", _type, 6),
        "core.coder.planner.plans": _wide(
            "lib/queue", lambda c: KeepsOrder(Queue(BlockPlan(c), 1, pipe=True), pipe=True)
        ),
        "core.coder.planner.codings": _wide(
            "lib/queue",
            lambda c: KeepsOrder(Queue(BlockCoding(c), StepPlanner.CODINGS), pipe=False),
        ),
        "core.coder.counter": Bench("zvcplus/field_counter", _type),
        "core.coder.ring": Bench("zvcplus/plain_ring", _type),
        "core.coder.order": Bench("zvcplus/early_order", _type, 12),
        "core.coder.placer": Bench("zvcplus/split_placer", _type),
        "core.coder.fields": Bench("zvcplus/split_fields", _type),
        "core.coder.network": Bench("zvcplus/bit_packer", _network, 6),
        "core.coder.coder": Bench("zvcplus/window_coder", _type),
        "core.coder.beats": Bench("lib/counter", design=_beats),
        "core.output": Bench("zvc/packet_output", lambda c: (c.stream_side, CompressorStatus)),
        "core.report": Bench("zvcplus/stream_report", _type),
    }


def _decompressor():
    return {
        "core.rows": Bench("zvcplus/row_ring", Decompressor.rows),
        "core.ends": Bench("zvcplus/packet_ends", Decompressor.rows, 10),
        "core.fetcher.steps": Bench("zvcplus/control_steps", cycles=12),
        "core.fetcher.steps.left": Bench(
            "lib/countdown", design=lambda c: Leaves(Countdown(COUNT_BITS, c.word.block_words))
        ),
        "core.fetcher.place": Bench("zvcplus/control_place"),
        "core.fetcher.window": Bench("zvcplus/control_window", lambda c: lambda: window(c), 5),
        "core.fetcher.header": Bench("zvcplus/header_reader", cycles=4),
        "core.fetcher.mask": Bench("zvcplus/mask_decoder", lambda c: c.word.flags, 5),
        "core.fetcher.describe": Bench("zvcplus/block_describer"),
        "core.fetcher.payload": Bench("zvcplus/payload_length", _payload_length, 5),
        "core.fetcher.check": Bench("zvcplus/stream_check", cycles=24, has_merged=True),
        "core.fetcher.check.compare": Bench("zvcplus/place_compare", cycles=6),
        "core.fetcher.check.whole": Bench("lib/counter", design=_whole_rows),
        "core.fronts": _wide("lib/queue", _fronts),
        "core.beats": Bench("zvcplus/beats_of_blocks"),
        "core.placer": Bench("zvcplus/beat_placer", cycles=6),
        "core.reader": Bench("zvcplus/payload_reader", cycles=6),
        "core.unpacker": Bench("zvcplus/field_unpacker", _network, 6),
        "core.beside": _wide("lib/delay_line", lambda c: Delays(_beside(c))),
        "core.builder": Bench("zvcplus/word_builder", _type, 5),
        "core.built": _wide(
            "lib/delay_line", lambda c: Delays(DelayLine(BeatTags(c), WordBuilder.LATENCY))
        ),
        "core.output": Bench("zvcplus/beat_output"),
        "core.commands": _wide(
            "lib/queue", lambda c: KeepsOrder(Queue(DecompressorCommand(), 1), pipe=False)
        ),
    }


def _wide(proof, design, cycles=8):
    """A proof of a component of any payload, with the payload of the unit."""
    return Bench(proof, cycles=cycles, design=design, seconds=SECONDS)


def _type(config):
    return config.format.type


def _network(config):
    return config.lanes, config.word.bits


def _line(config):
    depth = PlainCoder.rows(config) - FieldCounter.LATENCY
    return MovesOn(ElasticLine(LineBeat(config), depth))


def _beats(config):
    # All words of a beat are counted, but in the last beat.
    low = config.lanes.bit_length() - 1
    return Sums(Counter(COUNT_BITS - low, 1, for_cells=True))


def _payload_length(config):
    return config.word.block_words, config.word.bits, 1, False


def _whole_rows(config):
    byte_bits = config.beat_bytes.bit_length() - 1
    return Sums(Counter(COUNT_BITS - byte_bits, ROW_STEP_BITS, for_cells=True))


def _fronts(config):
    place = PayloadPlace(config, Decompressor.rows(config))
    return KeepsOrder(Queue(place, 2), pipe=False)


def _beside(config):
    return DelayLine(BeatTags(config), FieldUnpacker.LATENCY)
