"""Registers and counters read back, and compared with what software and memories know."""

from cdma.engine_codes import State
from cdma.sim.engine.model import OFFLOAD, PREFETCH


class Counted:
    """What counters must have: events since the last reset.

    Parameters
    ----------
    model : Software
    """

    def __init__(self, model):
        self._model = model
        self.reset()

    def reset(self) -> None:
        """The engine was reset: all counters are 0."""
        self.errors: int | None = 0
        self._reads = [self._read(port) for port in range(self._model.config.channels)]

    def lose(self) -> None:
        """Completions were lost: the number of errors is not known until the next reset."""
        self.errors = None

    def add(self, is_error: bool) -> None:
        """A completion."""
        if self.errors is not None:
            self.errors += is_error

    def _read(self, port):
        return self._model.engine.counts(port)["reads"]

    def difference(self) -> str:
        """The first counter that is wrong, of an engine that has nothing to do."""
        found = self._model.counters()
        expected = {} if self.errors is None else {"errors": self.errors}
        problem = _first(found, expected)
        for port, before in enumerate(self._reads):
            # Some bursts are sampled: the first of those that are outstanding together.
            bursts, reads = found[f"bursts[{port}]"], self._read(port) - before
            least, most = found[f"latency_sum[{port}]"], found[f"latency_max[{port}]"]
            if bursts > reads or least > bursts * most:
                return problem or f"channel {port}: {bursts} bursts of {reads}, {least} of {most}"
        return problem


def difference(model) -> str:
    """The first register of an idle engine that has not what software wrote, or what must be."""
    for ring in (OFFLOAD, PREFETCH):
        memory = model.rings[ring]
        pairs = {"SQ_BASE": memory.descriptors.address, "CQ_BASE": memory.completions.address}
        expected = {
            "SQ_SIZE": memory.log2,
            "CQ_SIZE": memory.completion_log2,
            "SQ_TAIL": memory.tail,
            "SQ_HEAD": memory.head,
            "CQ_TAIL": memory.head,
            "CQ_HEAD": memory.head,
            "CTRL": 1,
            "STATE": State.RUNNING,
            "ATTR": model.attributes[ring] & 0xF7FF,
        }
        for name, value in pairs.items():
            expected |= {f"{name}_LO": value & 0xFFFF_FFFF, f"{name}_HI": value >> 32}
        found = {name: model.read("RING", name, ring) for name in expected}
        # The reason of the last halt stays.
        found["STATE"] &= 0x1FF
        problem = _first(found, expected)
        if problem:
            return f"ring {ring}: {problem}"
    for channel, (rate, qos) in enumerate(zip(model.rates, model.qos, strict=True)):
        expected = {"ENABLE": 1, "QUARANTINE": 0, "RATE": rate, "QOS": qos}
        found = {name: model.read("CHANNEL", name, channel) for name in expected}
        found["outstanding"] = model.read("CHANNEL", "OUTSTANDING", channel) & 0xFFFF
        problem = _first(found, expected | {"outstanding": 0})
        if problem:
            return f"channel {channel}: {problem}"
    return ""


def _first(found, expected):
    """The first value that differs."""
    for name, value in expected.items():
        if found[name] != value:
            return f"{name} is {found[name]:#x}, expected {value:#x}"
    return ""
