"""What a step is computed for: network, board, link, engine and how well tensors compress."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from cdma.offload.compute import BOARDS, Board, Times, times_of
from cdma.offload.moves import Codec, Link, Move, coded_move, raw_move
from cdma.offload.networks.graph import Network
from cdma.offload.profiles import Library, Uniform
from cdma.offload.schemes.step import Job, kept
from cdma.offload.tensors import Tensor, tensors_of


@dataclass
class Setup:
    """One point of the model.

    Parameters
    ----------
    network : Network
        The whole network.
    batch : int
    profiles : dict of str to Library or Uniform
        By codec: zv, and rl, zl and lossy where they were measured or given.
    board : Board
    link : Link
    codec : Codec
        The compressing engine.
    zlib : float
        Raw bytes per second of zlib in hardware.
    dram : float or None
        Bandwidth of the device memory; ``None`` is the board's, ``inf`` leaves it out.
    times : Times or None
        Times of the feature layers; ``None`` is the calibrated model.
    cpu : float or None
        Raw bytes per second of vDNN++'s codec on the CPU; the row needs it.
    pool : int or None
        Bytes of vDNN++'s pool for saved tensors; ``None`` is what vDNN takes.
    """

    network: Network
    batch: int
    profiles: dict[str, Library | Uniform]
    board: Board = field(default_factory=lambda: BOARDS["titan-x"])
    link: Link = field(default_factory=Link)
    codec: Codec = field(default_factory=Codec)
    zlib: float = float("inf")
    dram: float | None = None
    times: Times | None = None
    cpu: float | None = None
    pool: int | None = None

    def __post_init__(self):
        if self.times is None:
            self.times = times_of(self.features, self.batch, self.board)
        if self.dram is None:
            self.dram = self.board.dram

    @property
    def available(self) -> set[str | None]:
        """What schemes may need, as far as it is given."""
        return {None, *self.profiles, *(["cpu"] if self.cpu else [])}

    @cached_property
    def features(self) -> Network:
        """The part that is timed and offloaded."""
        return self.network.features

    def tensors(self, policy: str = "all") -> list[Tensor]:
        """Tensors that move."""
        return tensors_of(self.features, self.batch, policy)

    def job(self, moves: list[Move], times: Times | None = None) -> Job:
        """What a schedule is given for these moves."""
        return Job(self.features, times or self.times, tuple(moves), self.dram)

    def raw(self, policy: str = "all") -> list[Move]:
        """Moves of the bytes as they are."""
        return [raw_move(tensor, self.link) for tensor in self.tensors(policy)]

    def coded(self, key: str = "zv", codec: Codec | None = None, policy: str = "all") -> list[Move]:
        """Moves through a codec; masks of dropout go as they are."""
        return [self.move(tensor, key, codec or self.codec) for tensor in self.tensors(policy)]

    def move(self, tensor: Tensor, key: str, codec: Codec) -> Move:
        """Move of one tensor through a codec."""
        if tensor.kind == "mask":
            return raw_move(tensor, self.link)
        return coded_move(tensor, self.profiles[key].of(tensor), self.link, codec)

    def staying(self, moving: list[Tensor], map_: Callable[[int], float] = float) -> list:
        """Residence of the saved tensors that do not move."""
        names = {tensor.name for tensor in moving}
        count = len(self.features.layers)
        found = [kept(tensor, count) for tensor in self.tensors() if tensor.name not in names]
        return [(first, last, map_(size)) for first, last, size in found]
