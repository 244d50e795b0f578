"""What happened at the ports, from their logs: the descriptor that was fetched, the open burst."""

import numpy as np

from cdma.engine_config import DESCRIPTOR_BYTES
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine import pins
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import EngineModel

_AR, _R, _AW, _B = (pins.CHANNELS.index(name) for name in ("ar", "r", "aw", "b"))


def start(model: EngineModel) -> None:
    """Log all ports from now on."""
    for port in range(model.config.channels + 1):
        model.engine.start_log(port)


def logs(model: EngineModel) -> list[np.ndarray]:
    """The logs of all ports, the link last."""
    return [model.engine.log(port) for port in range(model.config.channels + 1)]


def fetched(model: EngineModel, ring: int, link: np.ndarray) -> list[Descriptor]:
    """Descriptors that the engine has read of a ring, in order, from the log of the link."""
    memory, size = model.rings[ring].descriptors, model.config.link_bytes
    found = []
    for event in link[link["channel"] == _AR]:
        at = int(event["address"]) - memory.address
        if 0 <= at < memory.data.size and (int(event["len"]) + 1) * size == DESCRIPTOR_BYTES:
            found.append(Descriptor.unpack(memory.data[at : at + DESCRIPTOR_BYTES].tobytes())[0])
    return found


def open_burst(found: list[np.ndarray]) -> tuple[int, int] | None:
    """Space and address of the oldest burst without an answer, or ``None``."""
    oldest = []
    for port, log in enumerate(found):
        bursts = {}
        for event in log:
            is_read = event["channel"] in (_AR, _R)
            waiting = bursts.setdefault((is_read, int(event["id"])), [])
            if event["channel"] in (_AR, _AW):
                waiting.append((int(event["cycle"]), int(event["address"])))
            else:  # answers of an ID are in the order of its addresses
                waiting.pop(0)
        space = HOST if port == len(found) - 1 else DEVICE
        oldest += [(*waiting[0], space) for waiting in bursts.values() if waiting]
    if not oldest:
        return None
    _, address, space = min(oldest)
    return space, address
