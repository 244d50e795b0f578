"""What limits each tensor of a synchronised schedule."""

from cdma.errors import UserError
from cdma.offload.schemes import synchronised
from cdma.offload.schemes.registry import SCHEMES
from cdma.offload.setup import Setup

COLUMNS = {
    "tensor": "tensor",
    "kind": "kind",
    "raw_mib": "raw MiB",
    "ratio": "ratio",
    "down_ms": "down ms",
    "exposed_down_ms": "exposed",
    "up_ms": "up ms",
    "exposed_up_ms": "exposed up",
    "beside": "fetched beside",
    "limit": "limit",
}
#: Systems whose layers wait for their copies.
SYNCHRONISED = tuple(
    name for name in SCHEMES if name.startswith(("vdnn-", "cdma-")) or name in ("static", "cswap")
)


def rows(setup: Setup, name: str) -> list[dict]:
    """A row a tensor, in the order of the slots.

    ``limit`` is *hidden* when compute hides both copies, *alone* when the tensor is fetched with
    nothing beside it, else what the copies wait for: *link*, *codec* or *dram*.

    Raises
    ------
    UserError
        When the system is not synchronised, or lacks its codec.
    """
    if name not in SYNCHRONISED:
        raise UserError(f"explain takes one of {', '.join(SYNCHRONISED)}, not {name!r}")
    if SCHEMES[name].needs not in setup.available:
        raise UserError(f"{name} needs tensors to compress: give --densities")
    _, moves = SCHEMES[name].run(setup)
    beside = synchronised.fetched_beside(setup.job(moves))
    layers = setup.features.layers
    found = []
    for k, move in enumerate(moves):
        tensor, m = move.tensor, beside[k]
        alone = m == tensor.need
        hides = 0.0 if alone else setup.times.backward[m]
        down = max(move.down - setup.times.forward[tensor.slot], 0.0) + move.before
        up = max(move.up - hides, 0.0) + move.after
        found.append(
            {
                "tensor": tensor.name,
                "kind": tensor.kind,
                "raw_mib": tensor.bytes / 2**20,
                "ratio": tensor.bytes / move.link,
                "down_ms": 1e3 * move.down,
                "exposed_down_ms": 1e3 * down,
                "up_ms": 1e3 * move.up,
                "exposed_up_ms": 1e3 * up,
                "beside": "-" if alone else f"{layers[m].name} backward",
                "limit": _limit(setup, k, move, alone, down + up, m),
            }
        )
    return found


def _limit(setup: Setup, k: int, move, alone: bool, exposed: float, m: int) -> str:
    slot = move.tensor.slot
    own = setup.times.forward_bytes[slot] + move.tensor.bytes
    if own / setup.dram > max(setup.times.forward[slot], move.down):
        return "dram"
    if exposed <= 0:
        return "hidden"
    if move.before or move.after:
        return "codec"
    waits_out = move.down > setup.times.forward[slot]
    return "alone" if alone and not waits_out else move.limit
