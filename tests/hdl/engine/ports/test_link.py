"""The link's arbiter: IDs, order of data, answers, timeout."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.ports.link import CLIENTS, LinkArbiter

ATTR = {"user": 3, "prot": 1, "cache": 2}


@pytest.fixture(scope="module")
def config():
    return EngineConfig(channels=1, lanes=2, link_bytes=8)


def _with_names(config):
    """An arbiter whose clients' streams are members by name."""
    dut = LinkArbiter(config)
    for number in range(CLIENTS):
        for kind, ports in (("write", dut.writes), ("read", dut.reads)):
            for name in ("aw", "w", "b") if kind == "write" else ("ar", "r"):
                setattr(dut, f"{kind}{number}_{name}", getattr(ports[number], name))
    for name in ("aw", "w", "b", "ar", "r"):
        setattr(dut, f"port_{name}", getattr(dut.port, name))
    return dut


def _request(number, count):
    return [
        {"address": 4096 * number + 64 * k, "beats": 1 + k % 3, "attr": ATTR} for k in range(count)
    ]


@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
def test_data_follows_the_order_of_addresses(exchange, config, stall):
    dut = _with_names(config)
    sends, beats = {}, 0
    for number in range(CLIENTS):
        requests = _request(number, 6)
        sends[f"write{number}_aw"] = requests
        data = []
        for request in requests:
            for k in range(request["beats"]):
                value = request["address"] + k
                last = k == request["beats"] - 1
                data.append({"data": value, "strobe": 255, "last": int(last)})
        sends[f"write{number}_w"] = data
        beats += len(data)
    receives = {"port_aw": 6 * CLIENTS, "port_w": beats}
    passed = exchange(dut, sends, receives, stalls=stall)
    expected = []
    for address in passed["port_aw"].payloads:
        assert address["id"] == address["address"] // 4096
        assert address["attr"] == ATTR
        expected += [address["address"] + k for k in range(address["length"] + 1)]
    assert [beat["data"] for beat in passed["port_w"].payloads] == expected


def test_answers_go_to_their_client(exchange, config):
    dut = _with_names(config)
    answers = [
        {"id": number, "data": 10 * number + k, "resp": k, "last": 1}
        for k in range(4)
        for number in range(CLIENTS)
    ]
    written = [{"id": number, "resp": 2 * (number % 2)} for number in range(CLIENTS)]
    receives = {f"read{number}_r": 4 for number in range(CLIENTS)}
    receives |= {f"write{number}_b": 1 for number in range(CLIENTS)}
    passed = exchange(dut, {"port_r": answers, "port_b": written}, receives)
    for number in range(CLIENTS):
        data = [beat["data"] for beat in passed[f"read{number}_r"].payloads]
        assert data == [10 * number + k for k in range(4)]
        assert passed[f"write{number}_b"].payloads == [2 * (number % 2)]


@pytest.mark.parametrize("owed", [True, False], ids=["owed", "not_owed"])
def test_timeout(simulate, config, owed):
    dut = LinkArbiter(config)

    async def bench(ctx):
        ctx.set(dut.timeout, {"cycles": 20, "on": 0})
        await ctx.tick()
        ctx.set(dut.timeout, {"cycles": 20, "on": 1})
        ctx.set(dut.port.ar.ready, 1)
        ctx.set(dut.reads[2].ar.valid, owed)
        await ctx.tick()
        ctx.set(dut.reads[2].ar.valid, 0)
        for _ in range(30):
            await ctx.tick()
        return ctx.get(dut.failed)

    assert simulate(dut, bench) == owed
