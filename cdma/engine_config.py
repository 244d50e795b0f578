"""Size of the DMA engine, the one object that golden engine, hardware, driver and tests share."""

from dataclasses import dataclass

from cdma.format import Format

#: Name of the engine among the units.
ENGINE = "engine"
CHANNELS = (1, 2, 4, 8)
LANES = (2, 4, 8, 16, 32, 64)
LINK_BYTES = (8, 16, 32, 64)
BEAT_BYTES = (8, 16, 32, 64, 128)  # data widths of AXI4 from 64 bits on
STRIPE_BYTES = tuple(1 << k for k in range(10, 17))
#: Bytes of a 4 KB page: no AXI burst crosses one.
PAGE_BYTES = 4096
#: Most bytes of one burst.
BURST_BYTES = 512
#: Bytes of an entry of the index, of a descriptor and of a completion.
INDEX_BYTES, DESCRIPTOR_BYTES, COMPLETION_BYTES = 8, 64, 32

_MOST_BLOCK_WORDS = 1024  # as of the units, ``cdma.hdl.zvc.config``
_MOST_MASK_BEATS = 2
_LEAST_STAGE = 2048


@dataclass(frozen=True)
class EngineConfig:
    """Size of an engine (``docs/engine.md``).

    A *beat* is ``lanes`` words, the data width of each channel's AXI4 port. A *stripe* is the unit
    of interleaving over channels and of independent compression.

    Parameters
    ----------
    channels : int
        Memory channels: 1, 2, 4 or 8.
    lanes : int
        Words in a beat; a beat has 8 to 128 bytes.
    word_bits : int
        Bits in a word: 8, 16, 32 or 64.
    stripe_bytes : int
        Bytes in a stripe: a power of two from 1 KiB to 64 KiB, whole blocks.
    link_bytes : int or None
        Data width of the port to the host in bytes: 8, 16, 32 or 64. ``None`` gives half a beat,
        at least 8 and at most 64.
    block_words : int or None
        Words under one mask; ``None`` gives the default of :class:`cdma.format.Format`.
    address_bits : int
        Bits of an address, 32 to 64, at the channels and at the link.
    latency : int
        Cycles from a read address to its data for which the buffers are sized.
    stage_bytes : int or None
        Bytes of each channel's output buffer (STAGE), a power of two. ``None`` gives the first that
        holds ``beat_bytes * latency * 33/32`` bytes, a stripe and a burst.
    queue_bytes : int or None
        Bytes of each channel's input buffer of prefetches (QUEUE), a power of two. ``None`` gives
        two stripes.
    link_fifo_bytes : int
        Bytes of the link reader's buffer, a power of two.

    Raises
    ------
    TypeError, ValueError
        When a parameter is not an integer or breaks its rule.
    """

    channels: int = 4
    lanes: int = 8
    word_bits: int = 32
    stripe_bytes: int = 4096
    link_bytes: int | None = None
    block_words: int | None = None
    address_bits: int = 48
    latency: int = 350
    stage_bytes: int | None = None
    queue_bytes: int | None = None
    link_fifo_bytes: int = 16384

    def __post_init__(self):
        fmt = Format(self.word_bits, self.block_words)
        object.__setattr__(self, "block_words", fmt.block_words)
        _choice("Number of channels", self.channels, CHANNELS)
        _choice("Number of lanes", self.lanes, LANES)
        if self.beat_bytes not in BEAT_BYTES:
            raise ValueError(
                f"Beat must have 8 to 128 bytes, not {self.beat_bytes} "
                f"({self.lanes} lanes of {self.word_bits} bits)"
            )
        _choice("Stripe length", self.stripe_bytes, STRIPE_BYTES)
        if self.link_bytes is None:
            object.__setattr__(self, "link_bytes", min(max(self.beat_bytes // 2, 8), 64))
        _choice("Link width in bytes", self.link_bytes, LINK_BYTES)
        self._check_block(fmt)
        _range("Number of address bits", self.address_bits, 32, 64)
        _range("Latency in cycles", self.latency, 0, 4096)
        if self.stage_bytes is None:
            object.__setattr__(self, "stage_bytes", self._stage_for_latency())
        if self.queue_bytes is None:
            object.__setattr__(self, "queue_bytes", 2 * self.stripe_bytes)
        for name in ("stage_bytes", "queue_bytes", "link_fifo_bytes"):
            _power_of_two(name, getattr(self, name), _LEAST_STAGE, 1 << 20)

    def _check_block(self, fmt: Format) -> None:
        """Refuse blocks that the units or a stripe cannot have."""
        if fmt.block_words > _MOST_BLOCK_WORDS or fmt.block_words % self.lanes:
            raise ValueError(
                f"Block length must be at most {_MOST_BLOCK_WORDS} words and a multiple of the "
                f"{self.lanes} lanes, not {fmt.block_words!r}"
            )
        if fmt.mask_words > _MOST_MASK_BEATS * self.lanes:
            raise ValueError(
                f"Mask of a block must be at most {_MOST_MASK_BEATS} beats, "
                f"not {fmt.mask_words!r} words for {self.lanes} lanes"
            )
        if self.stripe_bytes % self.block_bytes:
            raise ValueError(
                f"Stripe must be whole blocks of {self.block_bytes} bytes, "
                f"not {self.stripe_bytes!r} bytes"
            )

    def _stage_for_latency(self) -> int:
        """A power of two that holds what is in flight, a stripe and a burst."""
        flight = -(-self.beat_bytes * self.latency * 33 // 32)
        need = flight + self.stripe_bytes + self.burst_bytes
        return max(1 << (need - 1).bit_length(), _LEAST_STAGE)

    @property
    def format(self) -> Format:
        """Format of the streams."""
        return Format(self.word_bits, self.block_words)

    @property
    def word_bytes(self) -> int:
        """Bytes in a word."""
        return self.word_bits // 8

    @property
    def beat_bytes(self) -> int:
        """Bytes in a beat: data width of a channel's port."""
        return self.lanes * self.word_bits // 8

    @property
    def block_bytes(self) -> int:
        """Bytes of words under one mask."""
        return self.block_words * self.word_bytes

    @property
    def stripe_words(self) -> int:
        """Words in a whole stripe."""
        return self.stripe_bytes // self.word_bytes

    @property
    def stripe_beats(self) -> int:
        """Beats in a whole stripe."""
        return self.stripe_bytes // self.beat_bytes

    @property
    def stripe_bound(self) -> int:
        """Most bytes of a whole stripe's stream."""
        return self.bound(self.stripe_bytes)

    @property
    def burst_bytes(self) -> int:
        """Most bytes of one burst, on every port."""
        return BURST_BYTES

    @property
    def alignment(self) -> int:
        """Alignment of device addresses: a stripe, or a beat with one channel."""
        return self.beat_bytes if self.channels == 1 else self.stripe_bytes

    @property
    def auto_distance(self) -> int:
        """Stripes after which the raw policy AUTO acts on a stripe's size."""
        return max(32, 4096 * self.beat_bytes // self.stripe_bytes)

    @property
    def reads(self) -> int:
        """Full bursts that each channel has outstanding to cover the latency."""
        return -(-self.beat_bytes * self.latency // self.burst_bytes) + 1

    @property
    def channel_writes(self) -> int:
        """Bursts that each channel may have outstanding, a power of two: they cover the latency."""
        return max(16, 1 << self.reads.bit_length())

    @property
    def link_writes(self) -> int:
        """Bursts of data that the link may have outstanding: as many as its reader has room for."""
        return max(16, self.link_fifo_bytes // self.burst_bytes)

    @property
    def name(self) -> str:
        """Short name such as ``4x8x32s4096l16``: channels, lanes, word bits, stripe, link."""
        block = "" if self.format == Format(self.word_bits) else f"b{self.block_words}"
        size = f"{self.channels}x{self.lanes}x{self.word_bits}"
        return f"{size}s{self.stripe_bytes}l{self.link_bytes}{block}"

    def bound(self, nbytes: int) -> int:
        """Most bytes of the stream of ``nbytes`` bytes of words: the words and all masks."""
        return nbytes + -(-nbytes // self.block_bytes) * self.format.mask_bytes

    def stripes(self, nbytes: int) -> int:
        """Stripes of a row of ``nbytes`` bytes; the last may be partial."""
        return -(-nbytes // self.stripe_bytes)

    def channel(self, address: int) -> int:
        """Channel of the stripe at a device address; of any byte in it with several channels."""
        return address // self.stripe_bytes % self.channels


def _is_int(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_int(what: str, value) -> None:
    if not _is_int(value):
        raise TypeError(f"{what} must be an integer, not {value!r}")


def _choice(what: str, value, allowed: tuple[int, ...]) -> None:
    _check_int(what, value)
    if value not in allowed:
        listed = ", ".join(map(str, allowed[:-1])) + f" or {allowed[-1]}"
        raise ValueError(f"{what} must be {listed}, not {value!r}")


def _range(what: str, value, least: int, most: int) -> None:
    _check_int(what, value)
    if not least <= value <= most:
        raise ValueError(f"{what} must be in {least}..{most}, not {value!r}")


def _power_of_two(name: str, value, least: int, most: int) -> None:
    what = {"stage_bytes": "STAGE", "queue_bytes": "QUEUE", "link_fifo_bytes": "Link FIFO"}[name]
    _range(f"{what} size in bytes", value, least, most)
    if value & (value - 1):
        raise ValueError(f"{what} size in bytes must be a power of two, not {value!r}")
