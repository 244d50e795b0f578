"""Compression in software on the GPU or CPU: static, CSWAP, vDNN++ (equations 6 to 8)."""

from dataclasses import dataclass, replace

from cdma.offload import constants
from cdma.offload.moves import Move, raw_move
from cdma.offload.schemes import synchronised
from cdma.offload.schemes.step import Event, Step, by_position
from cdma.offload.setup import Setup


@dataclass(frozen=True)
class CodecTime:
    """Seconds of a codec on the GPU: compression and decompression take half each.

    Parameters
    ----------
    base : float
        Seconds of a tensor of no bytes, both together.
    per_byte : float
        Seconds for each raw byte, both together.
    """

    base: float = constants.CSWAP_CODEC_BASE.value
    per_byte: float = constants.CSWAP_CODEC_PER_BYTE.value

    def __call__(self, size: float) -> float:
        """Seconds of compression, or of decompression."""
        return (self.base + self.per_byte * size) / 2


def static_moves(setup: Setup, codec: CodecTime | None = None) -> list[Move]:
    """Every tensor is compressed before its layer and decompressed before its use."""
    codec = codec or CodecTime()
    found = []
    for tensor in setup.tensors():
        raw = raw_move(tensor, setup.link)
        if tensor.kind == "mask":
            found.append(raw)
            continue
        size = setup.profiles["zv"].of(tensor).bytes(tensor.bytes)
        seconds, software = size / setup.link.effective, codec(tensor.bytes)
        found.append(
            replace(raw, down=seconds, up=seconds, link=size, host=size, before=software,
                    after=software)
        )  # fmt: skip
    return found


def exposed(move: Move, hidden_forward: float, hidden_backward: float) -> float:
    """Seconds that a tensor costs beyond the compute that hides it (CSWAP, equations 1 and 4)."""
    waiting = max(move.down - hidden_forward, 0.0) + max(move.up - hidden_backward, 0.0)
    return move.before + move.after + waiting


def decisions(setup: Setup, codec: CodecTime | None = None) -> list[tuple[Move, float, float]]:
    """CSWAP's choice by tensor: the cheaper of raw and compressed, with the cost of each.

    A tensor is hidden by the forward pass of its slot and by the backward pass beside which the
    schedule fetches it; by none when it is fetched alone.

    Returns
    -------
    list of (Move, float, float)
        The chosen move, exposed seconds raw and compressed.
    """
    raw, coded = setup.raw(), static_moves(setup, codec)
    beside = synchronised.fetched_beside(setup.job(raw))
    found = []
    for k, (plain, small) in enumerate(zip(raw, coded, strict=True)):
        forward = setup.times.forward[plain.tensor.slot]
        backward = 0.0 if beside[k] == plain.tensor.need else setup.times.backward[beside[k]]
        costs = exposed(plain, forward, backward), exposed(small, forward, backward)
        found.append((small if costs[0] > costs[1] else plain, *costs))
    return found


def cswap_moves(setup: Setup) -> list[Move]:
    """Moves that CSWAP chooses."""
    return [move for move, _, _ in decisions(setup)]


def vdnn_plus_plus(setup: Setup) -> tuple[Step, list[Move]]:
    """vDNN++: copies without synchronisation; an allocation waits for freed bytes of the pool.

    After the copy the CPU compresses, which frees pinned memory and takes no link; it decompresses
    before the copy back. The pool is what vDNN's saved tensors take at most, unless given.
    """
    network, job = setup.features, setup.job(setup.raw())
    rate = setup.cpu
    slots = by_position(job.moves, "slot")
    pool = setup.pool or _largest(setup)
    events: list[Event] = []
    clock = copied = 0.0
    live = 0
    freed: list[tuple[float, int]] = []
    sizes = {move.tensor.producer: move.tensor.bytes for move in job.moves}
    for i, layer in enumerate(network.layers):
        live += sizes.get(i, 0)
        while live > pool and freed:
            when, size = freed.pop(0)
            clock, live = max(clock, when), live - size
        end = clock + setup.times.forward[i]
        events.append(Event("compute", layer.name, clock, end))
        for k in slots.get(i, ()):
            start = max(clock, copied)
            copied = start + job.moves[k].down
            events.append(Event("down", job.moves[k].tensor.name, start, copied))
            freed.append((max(end, copied), job.moves[k].tensor.bytes))
        clock = end
    moves = []
    for move in job.moves:
        kept = setup.profiles["zv"].of(move.tensor).bytes(move.tensor.bytes)
        moves.append(replace(move, up=move.up + move.tensor.bytes / rate, host=kept))
    back = replace(job, moves=tuple(moves))
    step = synchronised.backward_from(back, max(clock, copied), events)
    return step, moves


def _largest(setup: Setup) -> int:
    """Bytes of the saved tensors that vDNN has on the device at most, in the forward pass."""
    raw = setup.raw()
    live = [0] * len(setup.features.layers)
    for move in raw:
        for i in range(max(move.tensor.producer, 0), move.tensor.slot + 1):
            live[i] += move.tensor.bytes
    return max(live)
