"""Texts that are made of the register table."""

import re

import pytest

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.emit.registers import c_header, markdown, system_rdl
from cdma.hdl.engine.registers import Guard, register_map

TABLE = register_map(EngineConfig())


def test_the_header_has_every_register_and_field():
    defined = dict(re.findall(r"^#define (CDMA_\w+(?:\(i\))?) (.+)$", c_header(TABLE), re.M))
    for block in TABLE.blocks:
        for register in block.registers:
            name = f"CDMA_{block.name}_{register.name}"
            plain = defined.get(name)
            if plain is not None:
                assert int(plain.rstrip("u"), 16) == block.address(register.name)
            else:
                numbers = re.findall(r"0x([0-9A-F]+)u", defined[f"{name}(i)"])
                base, step = (int(number, 16) for number in numbers)
                for instance in range(block.count):
                    assert base + step * instance == block.address(register.name, instance)
            for field in register.fields:
                assert int(defined[f"{name}_{field.name}_MASK"].rstrip("u"), 16) == field.mask
                assert int(defined[f"{name}_{field.name}_LOW"].rstrip("u")) == field.low
    for status in Status:
        assert defined[f"CDMA_STATUS_{status.name}"] == f"{status.value}u"


def test_the_header_is_the_same_for_every_size():
    small = register_map(EngineConfig(channels=1, lanes=2, address_bits=64))
    names = re.compile(r"^#define (\w+)", re.M)
    ours, theirs = names.findall(c_header(TABLE)), names.findall(c_header(small))
    assert set(ours) == set(theirs)


def test_the_page_names_every_field():
    page = markdown(TABLE)
    for block in TABLE.blocks:
        assert f"## {block.name}: {block.text}" in page
        for register in block.registers:
            assert f"| `{register.offset:02X}` | **{register.name}** |" in page
            for field in register.fields:
                assert f"| {field.name} | {field.access.value} |" in page


def test_system_rdl_compiles(tmp_path):
    systemrdl = pytest.importorskip("systemrdl")
    file = tmp_path / "cdma.rdl"
    for config in (EngineConfig(), EngineConfig(channels=1, address_bits=32)):
        table = register_map(config)
        file.write_text(system_rdl(table))
        compiler = systemrdl.RDLCompiler()
        compiler.compile_file(str(file))
        top = compiler.elaborate(top_def_name="cdma").top
        found = {
            node.absolute_address: node.inst_name
            for node in top.descendants(unroll=True)
            if isinstance(node, systemrdl.node.RegNode)
        }
        expected = {
            address: register.name
            for address, (_, _, register) in table.addresses().items()
            if register.fields
        }
        assert found == expected


def test_the_page_is_of_its_size():
    table = register_map(EngineConfig(channels=1, lanes=2, link_bytes=8, stripe_bytes=1024))
    page = markdown(table)
    assert f"Engine {table.config.name}: channels 1, lanes 2, words of 32 bits, link of 8" in page
    assert "| | | 3:0 | LANES | const | 1 | log2 of the words in a beat |" in page


def test_system_rdl_says_when_a_write_is_refused():
    text = system_rdl(register_map(EngineConfig(address_bits=32)))
    described = [part for part in text.split("reg {\n") if part.lstrip().startswith("desc")]
    registers = [each for block in TABLE.blocks for each in block.registers]
    guarded = {each.name for each in registers if each.guard is not Guard.NONE}
    found = {
        re.search(r"^        \} (\w+) @", part, re.M)[1]
        for part in described
        if "gets SLVERR" in part
    }
    assert found
    assert found <= guarded
    assert all(f"// {name} @ 0x" in text for name in guarded - found)
    assert "only aresetn clears it" in text
    assert "// DEV_BASE_HI @ 0x" in text


def test_system_rdl_has_balanced_braces_and_quotes():
    text = system_rdl(TABLE)
    assert text.count("{") == text.count("}")
    assert text.replace('\\"', "").count('"') % 2 == 0
    assert f'name = "cdma engine {TABLE.config.name}"' in text
