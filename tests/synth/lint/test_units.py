"""The units have no findings but what is waived, and each waiver is needed."""

import re

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl import emit
from cdma.hdl.zvc.config import NAMED, Config
from cdma.hdl.zvcplus.config import NAMED as PLUS_NAMED
from cdma.hdl.zvcplus.mixed.config import NAMED as MIXED_NAMED
from cdma.synth.lint import check, waivers
from cdma.synth.lint.units import lint, text


@pytest.mark.parametrize(
    "config",
    [
        NAMED["8x32"],
        *(
            pytest.param(config, marks=pytest.mark.slow)
            for config in (*NAMED.values(), Config.of(2, 8, 32), MIXED_NAMED["zvcplus-fp32+bf16"])
            if config.name != "8x32"
        ),
    ],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_units_have_no_finding(unit, config):
    tools, missing = check.installed()
    if not tools:
        pytest.skip("; ".join(missing))
    records = list(lint(tools, [unit], [config]))
    assert [record["tool"] for record in records] == tools
    assert [record["findings"] for record in records] == [[]] * len(tools)


@pytest.mark.slow
def test_the_compressor_of_all_types_has_no_finding():
    tools, missing = check.installed(["verilator", "slang", "yosys"])
    if missing:
        pytest.skip("; ".join(missing))
    records = list(lint(tools, ["compressor"], [MIXED_NAMED["zvcplus-all"]]))
    assert [record["findings"] for record in records] == [[]] * len(tools)


@pytest.mark.slow
def test_every_waiver_is_needed():
    found, missing = check.installed()
    if missing:
        pytest.skip("; ".join(missing))
    records = lint(found, ("compressor", "decompressor"), NAMED.values())
    used = {(each["kind"], each["pattern"]) for record in records for each in record["waived"]}
    assert [each for each in waivers.WAIVERS if (each.kind, each.pattern) not in used] == []


@pytest.mark.slow
def test_the_units_of_zvcplus_have_no_finding_and_need_their_waivers():
    tools, missing = check.installed()
    if missing:
        pytest.skip("; ".join(missing))
    records = list(lint(tools, ("compressor", "decompressor"), PLUS_NAMED.values()))
    assert len(records) == 2 * len(tools) * len(PLUS_NAMED)
    assert [each["findings"] for each in records] == [[]] * len(records)
    used = {(each["kind"], each["pattern"]) for record in records for each in record["waived"]}
    found = [each for each in waivers.PLUS_WAIVERS if (each.kind, each.pattern) not in used]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60),
        EngineConfig(1, stripe_bytes=1024, link_bytes=16, latency=60, codec="zvcplus"),
    ],
    ids=lambda config: config.codec,
)
def test_the_engine_has_no_finding_and_needs_its_waivers(config):
    tools, missing = check.installed()
    if missing:
        pytest.skip("; ".join(missing))
    records = list(lint(tools, ["compressor", "engine"], [config]))
    assert [(each["unit"], each["tool"]) for each in records] == [("engine", t) for t in tools]
    assert [each["findings"] for each in records] == [[]] * len(tools)
    used = {(each["kind"], each["pattern"]) for record in records for each in record["waived"]}
    if config.codec == "zvc":
        found = [each for each in waivers.ENGINE_WAIVERS if (each.kind, each.pattern) not in used]
        assert found == []


def test_pragmas_hide_nothing():
    if "verilator" not in check.installed()[0]:
        pytest.skip("Verilator is not installed")
    config = Config.of(2, 8, 8)
    (record,) = lint(["verilator"], ["compressor"], [config])
    assert record["waived"]
    text = emit.verilog("compressor", config)
    (as_given,) = lint(["verilator"], ["compressor"], [], text)
    assert (as_given["config"], as_given["findings"], as_given["waived"]) == (None, [], [])
    spoiled = re.sub(
        r"^endmodule$", "reg b; always @* if (aresetn) b = 1;\nendmodule", text, count=1, flags=re.M
    )
    (record,) = lint(["verilator"], ["compressor"], [], spoiled)
    assert "LATCH" in {finding["kind"] for finding in record["findings"]}


def test_text_has_a_line_for_each_finding():
    finding = {"tool": "yosys", "kind": "warning", "line": 3, "message": "odd"}
    record = {"unit": "compressor", "config": None, "tool": "yosys", "findings": [finding]}
    assert text(record | {"waived": [{"count": 2}]}) == (
        "compressor as given: yosys: 1 findings, 2 waived\n  line 3: warning: odd"
    )
