"""The wires of an AXI4 manager."""

import re

import pytest
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.full import Manager, wires
from cdma.hdl.axi.lite import BusSignature, LiteSignature

#: As Arm IHI 0022 names them, and who drives them.
MANAGER = (
    *[f"{a}{name}" for a in ("aw", "ar") for name in ("id", "addr", "len", "size", "burst")],
    *[f"{a}{name}" for a in ("aw", "ar") for name in ("lock", "cache", "prot", "qos", "user")],
    *("awvalid", "arvalid", "wdata", "wstrb", "wlast", "wvalid", "bready", "rready"),
)
SUBORDINATE = ("awready", "arready", "wready", "bid", "bresp", "bvalid")
SUBORDINATE += ("rid", "rdata", "rresp", "rlast", "rvalid")


@pytest.mark.parametrize("size", [8, 64])
def test_names_and_widths(size):
    found = {name: (len(value), flow) for name, value, flow in wires(Manager(48, size, 2).create())}
    assert {name for name, (_, flow) in found.items() if flow is Out} == set(MANAGER)
    assert {name for name, (_, flow) in found.items() if flow is In} == set(SUBORDINATE)
    assert found["awaddr"][0] == found["araddr"][0] == 48
    assert found["wdata"][0] == found["rdata"][0] == 8 * size
    assert found["wstrb"][0] == size
    assert {found[name][0] for name in ("awid", "arid", "bid", "rid")} == {2}
    assert found["awlen"][0] == 8


@pytest.mark.parametrize(("size", "code"), [(8, 3), (128, 7)])
def test_bursts_are_incremental_and_of_full_size(size, code):
    found = {name: value for name, value, _ in wires(Manager(48, size, 2).create())}
    for address in ("aw", "ar"):
        assert found[f"{address}size"].value == code
        assert found[f"{address}burst"].value == 1
        assert found[f"{address}lock"].value == 0


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        ((48, 24, 1), "Bytes of an AXI beat must be a power of two in 1..128, not 24"),
        ((0, 8, 1), "Number of address bits must lie in 1..64, not 0"),
        ((65, 8, 1), "Number of address bits must lie in 1..64, not 65"),
        ((48, 8, -1), "Number of identifier bits must lie in 0..32, not -1"),
        ((48, 8, 33), "Number of identifier bits must lie in 0..32, not 33"),
    ],
)
def test_wrong_widths(widths, message):
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}$"):
        Manager(*widths)


def test_least_and_most_widths():
    for widths in ((1, 1, 0), (64, 128, 32)):
        assert Manager(*widths).create().aw.p.address.shape().width == widths[0]


def test_signatures_with_the_same_widths_are_equal():
    assert Manager(32, 8, 1) == Manager(32, 8, 1)
    for other in (Manager(33, 8, 1), Manager(32, 16, 1), Manager(32, 8, 2), LiteSignature(32)):
        assert Manager(32, 8, 1) != other
    assert LiteSignature(12) == LiteSignature(12) != LiteSignature(13)
    assert BusSignature(12) == BusSignature(12) != LiteSignature(12)
