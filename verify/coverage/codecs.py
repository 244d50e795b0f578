"""What coverage knows of a codec, chosen by the configuration of a unit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cdma.hdl.codecs import UnitConfig
from cdma.verify.coverage import zvc, zvcplus
from cdma.verify.coverage.points import Coverage, Point


@dataclass(frozen=True)
class Codec:
    """Coverage points of a codec, and the packets that reach the rare ones.

    Attributes
    ----------
    points : callable
        All points of a unit, of its name and configuration.
    observe_packet : callable
        Count what a stream without an error shows, of the counters, its bytes and its words.
    observe_error : callable
        Count what a stream with an error shows, of the counters, its bytes, the words that its
        command says, the error code, and the number of bytes that the status says.
    packet : callable
        Words of a packet with rare placements, of a configuration.
    streams : callable
        Malformed streams with their numbers of words, of a configuration and a generator.
    stalls : tuple
        Back-pressure profiles beyond those of all codecs.
    """

    points: Callable[[str, UnitConfig], list[Point]]
    observe_packet: Callable[[Coverage, np.ndarray, int], None]
    observe_error: Callable[[Coverage, np.ndarray, int, int, int], None]
    packet: Callable[[UnitConfig], np.ndarray]
    streams: Callable[[UnitConfig, np.random.Generator], Iterable[tuple[bytes, int]]]
    stalls: tuple = ()


_CODECS = {
    "zvc": Codec(zvc.points, zvc.observe_packet, zvc.observe_error, zvc.packet, zvc.streams),
    "zvcplus": Codec(
        zvcplus.points,
        zvcplus.observe_packet,
        zvcplus.observe_error,
        zvcplus.packet,
        zvcplus.streams,
        zvcplus.STALLS,
    ),
}


def codec_of(config: UnitConfig) -> Codec:
    """The codec of a configuration."""
    return _CODECS[config.codec]
