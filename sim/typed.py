"""Packets of a unit of several element types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.hdl.codecs import UnitConfig


@dataclass(frozen=True)
class Typed:
    """A packet, and the type that its command says.

    Attributes
    ----------
    type : int
        Number of the type, 0 to 255. One that the unit does not have counts as its first.
    packet : ndarray or tuple
        As of a unit of one type: words, or a stream and its number of words.
    """

    type: int
    packet: np.ndarray | tuple


def part_of(config: UnitConfig, type_: int) -> UnitConfig:
    """Configuration of a unit of the type that counts as ``type_`` in a unit of several types."""
    return config.parts.get(type_, next(iter(config.parts.values())))


def config_for(config: UnitConfig, packet) -> UnitConfig:
    """Configuration that a packet is of: ``config`` itself in a unit of one type."""
    return part_of(config, packet.type) if isinstance(packet, Typed) else config


def untyped(packet):
    """The packet as of a unit of one type."""
    return packet.packet if isinstance(packet, Typed) else packet


def shuffled(packets: Mapping[int, Sequence], rng: np.random.Generator) -> list[Typed]:
    """Packets of several types in one random order; those of a type keep theirs.

    Parameters
    ----------
    packets : mapping of int to sequence
        Packets as of a unit of one type, by the number of the type.
    rng : numpy.random.Generator
        For the order.
    """
    numbers = np.repeat(list(packets), [len(each) for each in packets.values()])
    left = {number: iter(each) for number, each in packets.items()}
    return [Typed(int(number), next(left[number])) for number in rng.permutation(numbers)]
