"""The proofs for mutants of the first codec's units."""

from amaranth.hdl import Assume, Elaboratable

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS, CompressorStatus, DecompressorStatus
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.proofs.bench import Bench
from cdma.verify.proofs.lib.counter import Sums


def words_in(config: Config) -> Elaboratable:
    """Make the bench of the compressor's counter of whole blocks.

    The steps of the counter are limited to the bound of a row that the assembler's proof shows.
    """
    fmt = config.format
    low = (fmt.block_words & -fmt.block_words).bit_length() - 1
    most = fmt.block_words * (config.lanes - 1 + fmt.mask_words) // fmt.mask_words

    class Steps(Sums):
        def elaborate(self, platform):
            m = super().elaborate(platform)
            m.d.comb += Assume(self.dut.step <= most >> low)
            return m

    kept = AssembledRow(config)["kept"].width
    return Steps(Counter(COUNT_BITS - low, kept - low))


def fetcher(config: Config) -> str:
    """Name of the proof of the mask fetcher that a configuration uses."""
    return f"zvc/{'counting' if config.block_beats >= 4 else 'lookup'}_fetcher"


def benches(unit: str, config: Config) -> dict[str, Bench]:
    """Benches by the path of the component in a unit of the first codec. ``core`` is for all other
    components."""
    if unit == "compressor":
        return {
            "core.assembler": Bench("zvc/assembler"),
            "core.placer": Bench("zvc/placer"),
            "core.output": Bench("zvc/packet_output", lambda c: (c, CompressorStatus)),
            "core.report.words_in": Bench("lib/counter", cycles=4, design=words_in),
            "core": Bench("zvc/compressor_packets", cycles=13),
        }
    return {
        "core.ring": Bench("zvc/ring", lambda c: (c, Decompressor.rows(c)), 10),
        "core.fetcher": Bench(fetcher(config), cycles=9),
        "core.beats": Bench("zvc/block_beats"),
        "core.reader": Bench("zvc/payload_reader"),
        "core.report": Bench("zvc/decompressor_report", cycles=5),
        "core.output": Bench("zvc/packet_output", lambda c: (c, DecompressorStatus)),
        "core": Bench("zvc/decompressor_obeys", cycles=14),
    }
