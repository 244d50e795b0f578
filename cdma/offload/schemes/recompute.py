"""Recomputation: segments keep their inputs and run forward again before their backward pass.

Source: Chen et al., arXiv 1604.06174: about sqrt(n) segments of n layers. The last segment keeps
its tensors and is not computed again.
"""

import math
from dataclasses import replace

from cdma.offload.compute import Times
from cdma.offload.networks.graph import Network
from cdma.offload.tensors import Tensor


def segments_of(count: int) -> list[int]:
    """Segment of each of ``count`` layers."""
    size = max(1, math.isqrt(count))
    return [i // size for i in range(count)]


def times_with(network: Network, times: Times) -> Times:
    """Times with the second forward pass of a segment before its last layer's backward pass."""
    segments = segments_of(len(network.layers))
    backward, extra = list(times.backward), list(times.backward_bytes)
    for i, segment in enumerate(segments):
        if segment == segments[-1]:
            continue
        last = max(j for j, other in enumerate(segments) if other == segment)
        backward[last] += times.forward[i]
        extra[last] += times.forward_bytes[i]
    return replace(times, backward=tuple(backward), backward_bytes=tuple(extra))


def checkpoints_of(network: Network, tensors: list[Tensor]) -> list[Tensor]:
    """Tensors that a later segment than their own reads, and the image; needed for the rerun."""
    count = len(network.layers)
    segments = segments_of(count)
    found = []
    for tensor in tensors:
        own = segments[tensor.producer] if tensor.producer >= 0 else -1
        if own < segments[tensor.slot]:
            last = max(j for j in range(count) if segments[j] == segments[tensor.slot])
            need = last if segments[tensor.slot] != segments[-1] else tensor.need
            found.append(replace(tensor, need=max(need, tensor.need)))
    return found


def resident_of(network: Network, tensors: list[Tensor], checkpoints: list[Tensor]):
    """Residence of the tensors that are computed again, or kept in the last segment."""
    count = len(network.layers)
    segments = segments_of(count)
    names = {tensor.name for tensor in checkpoints}
    for tensor in tensors:
        if tensor.name in names:
            continue
        segment = segments[tensor.slot]
        end = 2 * count - 1 - tensor.last
        first = max(tensor.producer, 0)
        if segment == segments[-1]:
            yield first, end, tensor.bytes
        else:
            last = max(j for j in range(count) if segments[j] == segment)
            yield first, tensor.slot, tensor.bytes
            yield 2 * count - 1 - last, end, tensor.bytes
