"""The register table: addresses, fields, resets."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.registers import ADDRESS_BITS, Access, Guard, register_map

CONFIGS = [
    EngineConfig(),
    EngineConfig(channels=1, address_bits=32),
    EngineConfig(channels=8, lanes=16, word_bits=64, address_bits=64, stripe_bytes=1024),
    EngineConfig(channels=2, lanes=8, word_bits=8, latency=4096, stripe_bytes=65536, link_bytes=64),
]


@pytest.fixture(params=CONFIGS, ids=lambda config: config.name)
def table(request):
    return register_map(request.param)


def test_addresses_do_not_collide(table):
    registers = sum(block.count * len(block.registers) for block in table.blocks)
    addresses = table.addresses()
    assert len(addresses) == registers
    assert all(address % 4 == 0 and address < 1 << ADDRESS_BITS for address in addresses)


def test_registers_stay_in_their_block(table):
    for block in table.blocks:
        assert all(register.offset + 4 <= block.stride for register in block.registers)
        assert len({register.name for register in block.registers}) == len(block.registers)
    ends = [(block.base, block.base + block.stride * block.count) for block in table.blocks]
    for (_, end), (start, _) in zip(sorted(ends), sorted(ends)[1:], strict=False):
        assert end <= start


def test_fields_fit(table):
    for _, _, register in table.addresses().values():
        used = 0
        for field in register.fields:
            assert field.bits > 0
            assert field.low + field.bits <= 32, (register.name, field.name)
            assert not used & field.mask, (register.name, field.name)
            assert 0 <= field.reset < 1 << field.bits, (register.name, field.name)
            assert field.text
            used |= field.mask
        assert register.text


def test_a_register_is_all_constant_or_not_at_all(table):
    for _, _, register in table.addresses().values():
        constant = {field.access is Access.CONST for field in register.fields}
        assert len(constant) <= 1


def test_places_of_the_specification():
    table = register_map(EngineConfig())
    place = {
        ("ENGINE", "ID"): 0x00,
        ("ENGINE", "VERSION"): 0x04,
        ("ENGINE", "CAP0"): 0x08,
        ("ENGINE", "CAP1"): 0x0C,
        ("ENGINE", "CTRL"): 0x10,
        ("ENGINE", "STATUS"): 0x14,
        ("ENGINE", "IRQ_STATUS"): 0x18,
        ("ENGINE", "IRQ_ENABLE"): 0x1C,
        ("ENGINE", "IRQ_COALESCE"): 0x20,
        ("ENGINE", "TIMEOUT"): 0x24,
        ("ENGINE", "SNAPSHOT"): 0x28,
        ("COUNTERS", "CYCLES_LO"): 0x400,
    }
    for (block, register), address in place.items():
        assert table.block(block).address(register) == address
    assert table.block("RING").address("SQ_BASE_LO", 1) == 0x180
    assert table.block("CHANNEL").address("ENABLE", 3) == 0x2C0
    with pytest.raises(IndexError, match=r"^block CHANNEL has 4 instances, not 4$"):
        table.block("CHANNEL").address("ENABLE", 4)


def test_resets_of_the_specification():
    table = register_map(EngineConfig())
    assert table.block("ENGINE").register("TIMEOUT").reset == 1 << 20
    assert table.block("RING").register("ATTR").reset == 0b0010 << 12
    assert table.block("ENGINE").register("ID").reset.to_bytes(4, "big") == b"CDMA"
    for name in ("DEV_BASE_LO", "DEV_LIMIT_LO", "DEV_LIMIT_HI", "HOST_LIMIT_LO", "HOST_LIMIT_HI"):
        assert table.block("RING").register(name).reset == 0  # an empty window: closed


def test_guards():
    ring = register_map(EngineConfig()).block("RING")
    assert ring.register("SQ_BASE_LO").guard is Guard.IDLE
    assert ring.register("DEV_LIMIT_HI").guard is Guard.WINDOW
    assert ring.register("SQ_TAIL").guard is Guard.NONE


def test_capabilities_name_the_size():
    config = EngineConfig(channels=8, lanes=16, word_bits=16, stripe_bytes=2048, address_bits=40)
    block = register_map(config).block("ENGINE")
    cap0, cap1 = block.register("CAP0"), block.register("CAP1")
    assert 1 << cap0.field("LANES").reset == 16
    assert 1 << cap0.field("WORD").reset == 2
    assert 1 << cap0.field("CHANNELS").reset == 8
    assert 1 << cap0.field("STRIPE").reset == 2048
    assert 1 << cap0.field("LINK").reset == 16
    assert 1 << cap1.field("BLOCK").reset == config.block_words
    assert 1 << cap1.field("STAGE").reset == config.stage_bytes
    assert 1 << cap1.field("QUEUE").reset == config.queue_bytes
    assert 1 << cap1.field("AUTO").reset == config.auto_distance
    assert 32 + cap1.field("ADDRESS").reset == 40


def test_an_address_without_upper_bits_takes_writes():
    ring = register_map(EngineConfig(address_bits=32)).block("RING")
    assert ring.register("SQ_BASE_HI").fields == ()
    assert ring.register("SQ_BASE_HI").is_written
    assert not ring.register("SQ_HEAD").is_written
    assert not ring.register("ERROR_HI").is_written
    with pytest.raises(KeyError, match="SQ_HEAD has no field HEAD"):
        ring.register("SQ_HEAD").field("HEAD")
