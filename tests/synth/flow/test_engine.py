"""An engine in standard cells: the parts, and what their figures add up to."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.errors import UserError
from cdma.synth import liberty
from cdma.synth.flow import asic, engine, parts

TOP = "e"


def _module(name, *children):
    ports = "input aclk;\n  wire aclk;"
    inside = "\n".join(
        f"  {child} i{k} (\n    .aclk(aclk)\n  );" for k, child in enumerate(children)
    )
    return f"module {name}(aclk);\n  {ports}\n{inside}\nendmodule\n"


def _design(channels):
    """Modules with the names of an engine's parts, and nothing in them."""
    offload, prefetch, memories, text = (
        ["e_data_offload_host_crc"],
        ["e_data_prefetch_check_crc"],
        [],
        [],
    )
    for c in range(channels):
        offload.append(f"e_data_offload_channel{c}")
        prefetch.append(f"e_data_prefetch_channel{c}")
        memories.append(f"e_data_memory{c}")
        for channel, codec in ((offload[-1], "compressor"), (prefetch[-1], "decompressor")):
            text += [_module(channel, f"{channel}_codec_{codec}")]
            text += [_module(f"{channel}_codec_{codec}")]
    text += [_module(name) for name in (offload[0], prefetch[0], *memories, "e_front", "e_link")]
    text += [_module("e_data_offload", *offload), _module("e_data_prefetch", *prefetch)]
    text += [_module("e_data", "e_data_offload", "e_data_prefetch", *memories)]
    return "\n".join([*text, _module(TOP, "e_front", "e_data", "e_link")])


@pytest.fixture
def mapped(monkeypatch):
    """Each part has an area of 2 um2 by module, a flip-flop of 1 um2 and a memory of 100 bits."""
    seen = []

    def synthesise(steps, label, root, part, library, flow):
        assert flow in asic.FLOWS
        seen.append((root, part[1]))
        macro = parts.Macro(f"{root}.rows", 10, 10, 1, 1, 4)
        return parts.Mapped(2.0, 1.0, (macro,), f"// {root}")

    monkeypatch.setattr(parts, "synthesise", synthesise)
    return seen


def _cells(steps, channels, library_file, **options):
    config = EngineConfig(channels=channels)
    library = liberty.read(library_file)
    text = _design(channels)
    return engine.cells(steps, "e", TOP, text, config, library, **options), library


@pytest.mark.parametrize("channels", [1, 4])
def test_parts_of_a_channel_count_for_all(mapped, steps, library_file, channels):
    figures, library = _cells(steps, channels, library_file, with_timing=False)
    assert len(mapped) == 13
    assert not any(root.endswith("channel1") for root, _ in mapped)
    found = figures["parts"]
    assert found["codec"]["area_um2"] == 2 * 2.0 * channels
    assert found["channel"]["area_um2"] == 3 * 2.0 * channels
    assert found["CRC-32"]["storage_um2"] == 2 * 1.0
    assert figures["area_um2"] == sum(part["area_um2"] for part in found.values())
    assert figures["kge"] == figures["area_um2"] / library.nand2_area / 1e3
    assert figures["ram_bits"] == 100 * (8 + 5 * channels)
    assert sum(each["bits"] * each["count"] for each in figures["macros"]) == figures["ram_bits"]
    assert figures["critical_ns"] is None


@pytest.mark.usefixtures("mapped")
def test_the_path_is_that_of_all_parts(monkeypatch, steps, library_file):
    def critical_path(steps, label, top, whole, library, flow):
        assert whole.netlist.count("// e_") == 12
        return asic.Timing(0.5, "a", "b", 7)

    monkeypatch.setattr(asic, "critical_path", critical_path)
    figures, _ = _cells(steps, 1, library_file)
    assert figures["critical_ns"] == 0.5
    assert figures["critical_path"] == "a to b, 7 cells"
    assert figures["gb_per_s"] == 64


@pytest.mark.usefixtures("mapped")
def test_another_script_gives_the_whole_only(steps, library_file):
    figures, _ = _cells(steps, 2, library_file, with_timing=False)
    tuned, _ = _cells(steps, 2, library_file, with_timing=False, flow="tuned")
    assert tuned == {name: figures[name] for name in figures if name not in ("macros", "parts")}


@pytest.mark.usefixtures("mapped")
def test_records_of_parts(steps, library_file):
    figures, _ = _cells(steps, 2, library_file, with_timing=False)
    whole = {"config": "2x8x32", "lanes": 8, "word_bits": 32}
    whole |= {"asic": {"library": "toy", "abc": figures}}
    records = engine.part_records(whole)
    assert [each["unit"] for each in records] == [f"engine: {name}" for name in engine.ROOTS]
    assert {each["config"] for each in records} == {"2x8x32"}
    assert records[-1]["asic"]["abc"]["area_um2"] == 8.0
    assert engine.part_records(whole | {"asic": None}) == []


def test_what_is_no_engine_is_refused(steps, library_file):
    library = liberty.read(library_file)
    with pytest.raises(UserError, match=r"^e: the design has no module e_data, is it an engine\?$"):
        engine.cells(steps, "e", TOP, _module(TOP), EngineConfig(), library)
