"""Fewer bits: activations that are kept or moved as bf16, fp8 or a few bits (equation 10).

All of it is lossy. A cast reads the tensor once and writes the narrow one, at memory rate.
"""

from dataclasses import replace

from cdma.offload import constants
from cdma.offload.moves import Move, raw_move
from cdma.offload.schemes.step import Step
from cdma.offload.setup import Setup
from cdma.offload.tensors import Tensor

_BITS = 32


def cast_seconds(setup: Setup, tensor: Tensor, bits: int) -> float:
    """Seconds of a cast of a tensor."""
    moved = tensor.bytes * (1 + bits / _BITS)
    return moved / (constants.MEMORY.value * setup.board.memory)


def moves_of(setup: Setup, bits: int) -> list[Move]:
    """Moves of narrow tensors, masks as they are."""
    found = []
    for tensor in setup.tensors():
        move, share = raw_move(tensor, setup.link), bits / _BITS
        if tensor.kind != "mask":
            cast = cast_seconds(setup, tensor, bits)
            move = replace(
                move, down=move.down * share, up=move.up * share, link=move.link * share,
                host=move.host * share, before=cast, after=cast,
            )  # fmt: skip
        found.append(move)
    return found


def kept(setup: Setup, bits: int, chain) -> tuple[Step, list[Move]]:
    """Tensors stay on the device in ``bits`` bits from their last forward consumer on."""
    forward, backward = list(setup.times.forward), list(setup.times.backward)
    resident, count = [], len(setup.features.layers)
    for tensor in setup.tensors():
        if tensor.kind == "mask":
            resident.append((tensor.slot, 2 * count - 1 - tensor.last, tensor.bytes))
            continue
        cast = cast_seconds(setup, tensor, bits)
        forward[tensor.slot] += cast
        backward[tensor.need] += cast
        need, last = 2 * count - 1 - tensor.need, 2 * count - 1 - tensor.last
        resident.append((max(tensor.producer, 0), tensor.slot, tensor.bytes))
        resident.append((tensor.slot, need, tensor.bytes * bits // _BITS))
        resident.append((need, last, tensor.bytes))
    times = replace(setup.times, forward=tuple(forward), backward=tuple(backward))
    return Step(chain(setup, times), tuple(resident)), []
