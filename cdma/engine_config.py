"""Size of the DMA engine, the one object that golden engine, hardware, driver and tests share."""

from dataclasses import dataclass

from cdma import zvcplus
from cdma.format import BLOCK_BYTES, Format, StreamFormat
from cdma.integers import integer

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
#: A burst of a stream to the host may end early at a multiple of this.
PART_BYTES = 128
#: Alignment of the host streams of offloads and of the arena, in bytes.
HOST_ALIGNMENT = 64
#: Bytes of an entry of the index, of a descriptor and of a completion.
INDEX_BYTES, DESCRIPTOR_BYTES, COMPLETION_BYTES = 8, 64, 32

#: Codecs of an engine, and the element types that it has of ZVC+.
CODECS = ("zvc", "zvcplus")
PLUS_TYPES = ("fp32", "fp16", "bf16", "int8")

_MOST_BLOCK_WORDS = 1024  # as of the units, ``cdma.hdl.zvc.config``
_MOST_MASK_BEATS = 2
_LEAST_STAGE = 2048

#: Parameters that are integers, as messages call them.
_INTEGERS = {
    "channels": "Number of channels",
    "lanes": "Number of lanes",
    "word_bits": "Word width",
    "stripe_bytes": "Stripe length",
    "link_bytes": "Link width in bytes",
    "block_words": "Block length",
    "address_bits": "Number of address bits",
    "latency": "Latency in cycles",
    "stage_bytes": "STAGE size in bytes",
    "queue_bytes": "QUEUE size in bytes",
    "link_fifo_bytes": "Link FIFO size in bytes",
}


@dataclass(frozen=True)
class EngineConfig:
    """Size of an engine (``docs/engine.md``).

    A *beat* is ``lanes`` words, the data width of each channel's AXI4 port. A *stripe* is the unit
    of interleaving over channels and of independent compression.

    Parameters
    ----------
    channels : int
        Memory channels: 1, 2, 4 or 8.
    lanes : int or None
        Words in a beat; a beat has 8 to 128 bytes. ``None`` gives 8, of ZVC+ 32 bytes, all that it
        has.
    word_bits : int or None
        Bits in a word: 8, 16, 32 or 64. ``None`` gives 32, of ZVC+ the width of the type.
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
    codec : str
        ``"zvc"``, zero-value compression, or ``"zvcplus"`` (``docs/zvcplus.md``).
    type : str or None
        Element type of ZVC+: ``"fp32"`` (by default), ``"fp16"``, ``"bf16"`` or ``"int8"``.

    Raises
    ------
    TypeError, ValueError
        When a parameter is not an integer or breaks its rule.
    """

    channels: int = 4
    lanes: int | None = None
    word_bits: int | None = None
    stripe_bytes: int = 4096
    link_bytes: int | None = None
    block_words: int | None = None
    address_bits: int = 48
    latency: int = 350
    stage_bytes: int | None = None
    queue_bytes: int | None = None
    link_fifo_bytes: int = 16384
    codec: str = "zvc"
    type: str | None = None

    def __post_init__(self):
        for name, what in _INTEGERS.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, integer(what, getattr(self, name)))
        self._complete()
        fmt = self.format
        self._choice("channels", CHANNELS)
        self._choice("lanes", LANES)
        if self.beat_bytes not in BEAT_BYTES:
            raise ValueError(
                f"Beat must have 8 to 128 bytes, not {self.beat_bytes} "
                f"({self.lanes} lanes of {self.word_bits} bits)"
            )
        self._choice("stripe_bytes", STRIPE_BYTES)
        if self.link_bytes is None:
            object.__setattr__(self, "link_bytes", min(max(self.beat_bytes // 2, 8), 64))
        self._choice("link_bytes", LINK_BYTES)
        if not self.is_plus:
            self._check_block(fmt)
        self._range("address_bits", 32, 64)
        self._range("latency", 0, 4096)
        if self.stage_bytes is None:
            object.__setattr__(self, "stage_bytes", self._stage_for_latency())
        if self.queue_bytes is None:
            object.__setattr__(self, "queue_bytes", 2 * self.stripe_bytes)
        for name in ("stage_bytes", "queue_bytes", "link_fifo_bytes"):
            self._power_of_two(name, _LEAST_STAGE, 1 << 20)
        self._check_stage(fmt)

    def _complete(self) -> None:
        """Check codec and type, and fill in what they determine."""
        if self.codec not in CODECS:
            raise ValueError(f"Codec must be {' or '.join(CODECS)}, not {self.codec!r}")
        if self.is_plus:
            self._complete_plus()
            return
        if self.type is not None:
            raise ValueError(f"Element type is for codec zvcplus, not {self.type!r}")
        for name, value in (("lanes", 8), ("word_bits", 32)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        object.__setattr__(
            self, "block_words", Format(self.word_bits, self.block_words).block_words
        )

    def _complete_plus(self) -> None:
        """The type gives the words of a beat and of a block."""
        if self.type is None:
            object.__setattr__(self, "type", PLUS_TYPES[0])
        if self.type not in PLUS_TYPES:
            raise ValueError(
                f"Element type of an engine must be one of {', '.join(PLUS_TYPES)}, "
                f"not {self.type!r}"
            )
        word = zvcplus.TYPES[self.type]
        for name, what, value in (
            ("lanes", "Number of lanes", word.beat_words),
            ("word_bits", "Word width in bits", word.bits),
            ("block_words", "Block length in words", word.block_words),
        ):
            if getattr(self, name) not in (None, value):
                raise ValueError(
                    f"{what} must be {value} for {self.type} of ZVC+, not {getattr(self, name)!r}"
                )
            object.__setattr__(self, name, value)

    def _choice(self, name: str, allowed: tuple[int, ...]) -> None:
        value = getattr(self, name)
        if value not in allowed:
            listed = ", ".join(map(str, allowed[:-1])) + f" or {allowed[-1]}"
            raise ValueError(f"{_INTEGERS[name]} must be {listed}, not {value!r}")

    def _range(self, name: str, least: int, most: int) -> None:
        value = getattr(self, name)
        if value is None or not least <= value <= most:
            raise ValueError(f"{_INTEGERS[name]} must be in {least}..{most}, not {value!r}")

    def _power_of_two(self, name: str, least: int, most: int) -> None:
        self._range(name, least, most)
        value = getattr(self, name)
        if value & (value - 1):
            raise ValueError(f"{_INTEGERS[name]} must be a power of two, not {value!r}")

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

    def _check_stage(self, fmt: Format) -> None:
        """Refuse a STAGE in which a stripe would wait for room for ever."""
        if not self.counts_early:
            if self.stage_bytes <= self.stripe_bytes:
                raise ValueError(
                    f"STAGE must be larger than a stripe of {self.stripe_bytes} bytes with this "
                    f"codec, not {self.stage_bytes!r} bytes"
                )
            return
        # A block leaves the compressor when all of it has come. Beside it are the rest of a row
        # and what the next burst is charged.
        burst = self.burst_bytes // self.word_bytes
        masks = fmt.mask_words * (1 + max(1, burst // self.block_words))
        least = (self.block_words + self.lanes - 1 + burst + masks) * self.word_bytes
        if self.stage_bytes < least:
            raise ValueError(
                f"STAGE must hold a block of {self.block_bytes} bytes and a burst, {least} bytes, "
                f"not {self.stage_bytes!r} bytes"
            )

    def _stage_for_latency(self) -> int:
        """A power of two that holds what is in flight, a stripe and a burst."""
        flight = -(-self.beat_bytes * self.latency * 33 // 32)
        need = flight + self.stripe_bytes + self.burst_bytes
        return max(1 << (need - 1).bit_length(), _LEAST_STAGE)

    @property
    def is_plus(self) -> bool:
        """The codec is ZVC+."""
        return self.codec == "zvcplus"

    @property
    def format(self) -> StreamFormat:
        """Format of the streams."""
        if self.is_plus:
            return zvcplus.Format(self.type)
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
    def has_padding(self) -> bool:
        """Streams of stripes may end inside a word; zero bytes fill it up in host memory."""
        return self.is_plus and self.word_bits > 8

    @property
    def counts_early(self) -> bool:
        """The size of a beat in the stream is known as the beat enters the compressor; else that of
        a stripe when its stream is complete."""
        return not self.is_plus

    @property
    def growth_beats(self) -> int:
        """Most beats by which a stripe's stream is longer than the stripe, of a codec that counts
        late. A whole block grows by its code of raw words, a partial one by its control."""
        blocks = self.stripe_bytes // BLOCK_BYTES
        bits = (zvcplus.RAW_BITS - 8 * BLOCK_BYTES) * (blocks - 1) + zvcplus.MOST_CONTROL_BITS
        return -(-bits // (8 * self.beat_bytes))

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
    def channel_reads(self) -> int:
        """Bursts that a channel may read at a time, a power of two; one more waits at its port."""
        return 1 << (self.reads + 8).bit_length()

    @property
    def channel_writes(self) -> int:
        """Bursts that each channel may have outstanding, a power of two: they cover the latency."""
        return max(16, 1 << self.reads.bit_length())

    @property
    def link_writes(self) -> int:
        """Bursts of data that the link writes at a time, as many as its reader has room for: four
        of them have begun and are not issued."""
        return max(16, self.link_fifo_bytes // self.burst_bytes)

    @property
    def name(self) -> str:
        """Short name such as ``4x8x32s4096l16``: channels, lanes, word bits, stripe, link."""
        is_usual = self.is_plus or self.format == Format(self.word_bits)
        block = "" if is_usual else f"b{self.block_words}"
        codec = f"-zvcplus-{self.type}" if self.is_plus else ""
        size = f"{self.channels}x{self.lanes}x{self.word_bits}"
        return f"{size}s{self.stripe_bytes}l{self.link_bytes}{block}{codec}"

    def bound(self, nbytes: int) -> int:
        """Most bytes in host memory of the stream of ``nbytes`` bytes of words."""
        if not self.is_plus:
            return nbytes + -(-nbytes // self.block_bytes) * self.format.mask_bytes
        whole, rest = divmod(nbytes, self.stripe_bytes)
        longest, last = (
            self.padded(self.format.most_bytes(-(-size // self.word_bytes)))
            for size in (self.stripe_bytes, rest)
        )
        return whole * longest + last

    def padded(self, nbytes):
        """Bytes that ``nbytes`` of a stripe's stream take in host memory; numbers or arrays."""
        return -(-nbytes // self.word_bytes) * self.word_bytes

    def stripes(self, nbytes: int) -> int:
        """Stripes of a row of ``nbytes`` bytes; the last may be partial."""
        return -(-nbytes // self.stripe_bytes)

    def channel(self, address: int) -> int:
        """Channel of the stripe at a device address; of any byte in it with several channels."""
        return address // self.stripe_bytes % self.channels
