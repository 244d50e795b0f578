"""The register table: the one source of hardware, C header, Python driver and documents.

Pure data. A :class:`Map` is the list of blocks of one engine; each block has registers at fixed
offsets and repeats ``count`` times. All registers have 32 bits; bits that no field has read as zero
and ignore what is written.
"""

from dataclasses import dataclass, field
from enum import Enum

from cdma import zvcplus
from cdma.engine_codes import State, Status, Wait
from cdma.engine_config import EngineConfig

#: "CDMA" in ASCII, as a number.
ID = 0x43444D41
#: Version of the register map: a new major number is an incompatible change.
MAJOR, MINOR = 1, 0
#: Ids of the codecs, in CAP1 and in containers.
CODECS = {"zvc": 0, "zvcplus": 2}
#: Bits of a register address: the map takes 4 KiB.
ADDRESS_BITS = 12


class Access(Enum):
    """What software may do with a field, and what the engine does with it."""

    CONST = "const"  # a parameter of the engine, never changes
    RO = "ro"  # the engine writes, software reads
    RW = "rw"  # software writes
    RWH = "rwh"  # software writes, the engine changes it too
    W1C = "w1c"  # the engine sets, writing 1 clears; a set beats a clear in the same cycle
    W1S = "w1s"  # writing 1 sets, only `aresetn` clears
    START = "start"  # writing 1 starts an action; reads 1 until it is done


class Guard(Enum):
    """When a write is refused with SLVERR."""

    NONE = "none"
    IDLE = "idle"  # while the ring runs or has something outstanding
    WINDOW = "window"  # as IDLE, and after CTRL.LOCK was set


@dataclass(frozen=True)
class Field:
    """Some bits of a register.

    Parameters
    ----------
    name : str
        Upper-case name, unique in the register.
    low, bits : int
        Position of the lowest bit, and number of bits.
    access : Access
    reset : int
        Value after reset; of ``Access.CONST`` the value at all times.
    text : str
        Description, one line.
    codes : type of IntEnum or None
        Names of the values.
    """

    name: str
    low: int
    bits: int
    access: Access
    reset: int
    text: str
    codes: type | None = None

    @property
    def mask(self) -> int:
        """The field's bits in the register."""
        return ((1 << self.bits) - 1) << self.low


@dataclass(frozen=True)
class Register:
    """A register of 32 bits at ``offset`` bytes from its block's base."""

    name: str
    offset: int
    text: str
    fields: tuple[Field, ...]
    guard: Guard = Guard.NONE

    def field(self, name: str) -> Field:
        """Field of a name; KeyError when there is none."""
        for each in self.fields:
            if each.name == name:
                return each
        raise KeyError(f"{self.name} has no field {name}")

    @property
    def reset(self) -> int:
        """Value after reset."""
        return sum(each.reset << each.low for each in self.fields)

    @property
    def is_written(self) -> bool:
        """Whether software may write to it; else writes get SLVERR.

        The upper half of an address that has no bits there takes writes and ignores them.
        """
        return not self.fields or any(
            each.access not in (Access.CONST, Access.RO) for each in self.fields
        )


@dataclass(frozen=True)
class Block:
    """Registers that repeat ``count`` times, ``stride`` bytes apart, from ``base`` on."""

    name: str
    text: str
    base: int
    stride: int
    count: int
    registers: tuple[Register, ...]

    def register(self, name: str) -> Register:
        """Register of a name; KeyError when there is none."""
        for each in self.registers:
            if each.name == name:
                return each
        raise KeyError(f"block {self.name} has no register {name}")

    def address(self, name: str, instance: int = 0) -> int:
        """Byte address of a register of one instance."""
        if not 0 <= instance < self.count:
            raise IndexError(f"block {self.name} has {self.count} instances, not {instance}")
        return self.base + self.stride * instance + self.register(name).offset


@dataclass(frozen=True)
class Map:
    """All registers of an engine."""

    config: EngineConfig
    blocks: tuple[Block, ...] = field(default=())

    def block(self, name: str) -> Block:
        """Block of a name; KeyError when there is none."""
        for each in self.blocks:
            if each.name == name:
                return each
        raise KeyError(f"there is no block {name}")

    def addresses(self) -> dict[int, tuple[Block, int, Register]]:
        """Block, instance and register at each mapped address, in order of addresses."""
        found = {
            block.base + block.stride * instance + register.offset: (block, instance, register)
            for block in self.blocks
            for instance in range(block.count)
            for register in block.registers
        }
        return dict(sorted(found.items()))


def register_map(config: EngineConfig) -> Map:
    """The registers of an engine of this size."""
    blocks = (
        Block("ENGINE", "the whole engine", 0x000, 0x100, 1, _identity(config) + _control(config)),
        Block("RING", "0 offload, 1 prefetch", 0x100, 0x80, 2, _ring(config)),
        Block("CHANNEL", "one for each memory channel", 0x200, 0x40, config.channels, _channel()),
        Block(
            "COUNTERS",
            "of the whole engine, as of the last snapshot; 0 before the first",
            0x400,
            0x80,
            1,
            _totals(),
        ),
        Block(
            "CHANNEL_COUNTERS",
            "of each channel, as of the last snapshot; 0 before the first",
            0x480,
            0x80,
            config.channels,
            _channel_counters(),
        ),
    )
    return Map(config, blocks)


def _identity(config: EngineConfig) -> tuple[Register, ...]:
    def const(name, low, bits, value, text):
        return Field(name, low, bits, Access.CONST, value, text)

    log2 = lambda number: number.bit_length() - 1  # noqa: E731
    type_ = zvcplus.TYPES[config.type].number if config.is_plus else 0
    return (
        Register("ID", 0x00, "identification", (const("ID", 0, 32, ID, '"CDMA" in ASCII'),)),
        Register(
            "VERSION",
            0x04,
            "version of the register map",
            (
                const("MINOR", 0, 16, MINOR, "compatible additions"),
                const("MAJOR", 16, 16, MAJOR, "incompatible changes"),
            ),
        ),
        Register(
            "CAP0",
            0x08,
            "shape of the engine",
            (
                const("LANES", 0, 4, log2(config.lanes), "log2 of the words in a beat"),
                const("WORD", 4, 4, log2(config.word_bytes), "log2 of the bytes in a word"),
                const("CHANNELS", 8, 4, log2(config.channels), "log2 of the memory channels"),
                const("TYPE", 12, 4, type_, "element type of ZVC+: 0 fp32, 1 fp16, 2 bf16, 3 int8"),
                const("STRIPE", 16, 5, log2(config.stripe_bytes), "log2 of the bytes in a stripe"),
                const("LINK", 24, 4, log2(config.link_bytes), "log2 of the link's bytes per beat"),
            ),
        ),
        Register(
            "CAP1",
            0x0C,
            "format and buffers",
            (
                const("BLOCK", 0, 4, log2(config.block_words), "log2 of the words in a block"),
                const("CODEC", 4, 4, CODECS[config.codec], "codec: 0 zero-value, 2 ZVC+"),
                const("STAGE", 8, 5, log2(config.stage_bytes), "log2 of the bytes in STAGE"),
                const("QUEUE", 13, 5, log2(config.queue_bytes), "log2 of the bytes in QUEUE"),
                const("AUTO", 18, 4, log2(config.auto_distance), "log2 of D, the reach of AUTO"),
                const("ADDRESS", 22, 6, config.address_bits - 32, "bits of an address less 32"),
                const(
                    "FEATURES",
                    28,
                    4,
                    0b1111,
                    "bit 0 raw policy AUTO, 1 CRC, 2 rows with pitch, 3 APPEND",
                ),
            ),
        ),
    )


_IRQ = (
    ("CQ0", 0, "a completion of ring 0 is to be read (after coalescing)"),
    ("CQ1", 1, "a completion of ring 1 is to be read (after coalescing)"),
    ("ERROR0", 2, "ring 0 entered ERROR or HALTED"),
    ("ERROR1", 3, "ring 1 entered ERROR or HALTED"),
    ("QUARANTINE", 4, "a channel was quarantined"),
    ("FATAL", 5, "the link timed out: only `aresetn` recovers"),
)


def _control(config: EngineConfig) -> tuple[Register, ...]:
    def bits(access):
        return tuple(Field(name, low, 1, access, 0, text) for name, low, text in _IRQ)

    return (
        Register(
            "CTRL",
            0x10,
            "control",
            (
                Field(
                    "RESET",
                    0,
                    1,
                    Access.START,
                    0,
                    "abort both rings, then clear all registers, counts and counters; "
                    "LOCK stays, with the windows and ATTR of a locked ring",
                ),
            ),
        ),
        Register(
            "STATUS",
            0x14,
            "status",
            (
                Field("BUSY0", 0, 1, Access.RO, 0, "ring 0 has something started or outstanding"),
                Field("BUSY1", 1, 1, Access.RO, 0, "ring 1 has something started or outstanding"),
                Field("FATAL", 2, 1, Access.RO, 0, "the link timed out"),
                Field("QUARANTINED", 8, 8, Access.RO, 0, "one bit for each channel"),
            ),
        ),
        Register("IRQ_STATUS", 0x18, "interrupts that wait", bits(Access.W1C)),
        Register("IRQ_ENABLE", 0x1C, "irq = any of IRQ_STATUS AND IRQ_ENABLE", bits(Access.RW)),
        Register(
            "IRQ_COALESCE",
            0x20,
            "coalescing of completion interrupts, for each ring",
            (
                Field("COUNT", 0, 8, Access.RW, 0, "fire at this many completions; 0 is 1"),
                Field("TIMER", 8, 24, Access.RW, 0, "or so many cycles after the first; 0 at once"),
            ),
        ),
        Register(
            "TIMEOUT",
            0x24,
            "timeout of all ports",
            (
                Field(
                    "CYCLES",
                    0,
                    32,
                    Access.RW,
                    1 << 20,
                    "cycles without a handshake on a port that is owed one; 0 off, but 2^20 while "
                    "a ring aborts",
                ),
            ),
        ),
        Register(
            "SNAPSHOT",
            0x28,
            "snapshot of all counters",
            (Field("TAKE", 0, 1, Access.START, 0, "copy all counters in one cycle; 1 while busy"),),
        ),
        Register(
            "CAP2",
            0x2C,
            "depths",
            (
                Field("READS", 0, 16, Access.CONST, config.reads, "read bursts each channel needs"),
                Field(
                    "LINK_FIFO",
                    16,
                    5,
                    Access.CONST,
                    config.link_fifo_bytes.bit_length() - 1,
                    "log2 of the bytes in the link reader's buffer",
                ),
            ),
        ),
    )


def _ring(config: EngineConfig) -> tuple[Register, ...]:
    count = (Field("COUNT", 0, 16, Access.RO, 0, "free-running; entry = count modulo size"),)
    counted = (Field("COUNT", 0, 16, Access.RW, 0, "free-running; entry = count modulo size"),)
    size = (Field("LOG2", 0, 4, Access.RW, 0, "log2 of the entries"),)
    idle, window = Guard.IDLE, Guard.WINDOW
    return (
        *_pair("SQ_BASE", 0x00, "submission ring", config.address_bits, idle, align=6),
        Register("SQ_SIZE", 0x08, "size of the submission ring", size, idle),
        Register("SQ_TAIL", 0x0C, "descriptors submitted, written by software", counted),
        Register("SQ_HEAD", 0x10, "descriptors completed, written by the engine", count),
        *_pair("CQ_BASE", 0x14, "completion ring", config.address_bits, idle, align=6),
        Register("CQ_SIZE", 0x1C, "size of the completion ring", size, idle),
        Register("CQ_TAIL", 0x20, "completions written, by the engine", count),
        Register("CQ_HEAD", 0x24, "completions read, written by software", counted),
        _ring_control(),
        _ring_state(),
        *_pair("ERROR", 0x30, "address of the error", config.address_bits, access=Access.RO),
        *_pair("DEV_BASE", 0x38, "device window: first byte", config.address_bits, window),
        *_pair(
            "DEV_LIMIT", 0x40, "device window: first byte past", config.address_bits + 1, window
        ),
        *_pair("HOST_BASE", 0x48, "host window: first byte", config.address_bits, window),
        *_pair("HOST_LIMIT", 0x50, "host window: first byte past", config.address_bits + 1, window),
        *_pair("ARENA_BASE", 0x58, "arena of APPEND: first byte", config.address_bits, idle, 6),
        *_pair("ARENA_LIMIT", 0x60, "arena: first byte past", config.address_bits + 1, idle, 6),
        *_pair(
            "ARENA_POINTER",
            0x68,
            "arena: where the next stream goes",
            config.address_bits + 1,
            idle,
            6,
            Access.RWH,
        ),
        Register(
            "ATTR",
            0x70,
            "attributes of every burst of this ring",
            (
                Field("USER", 0, 8, Access.RW, 0, "AxUSER"),
                Field("PROT", 8, 3, Access.RW, 0, "AxPROT"),
                Field("CACHE", 12, 4, Access.RW, 0b0010, "AxCACHE"),
            ),
            window,
        ),
    )


def _ring_control() -> Register:
    return Register(
        "CTRL",
        0x28,
        "control of the ring",
        (
            Field(
                "RUN",
                0,
                1,
                Access.RWH,
                0,
                "fetch and start descriptors, as soon as nothing is outstanding; the engine "
                "clears it on HALTED, ERROR and ABORT; ignored while ENGINE.CTRL.RESET is 1",
            ),
            Field(
                "ABORT",
                1,
                1,
                Access.START,
                0,
                "complete started descriptors as ABORTED, drop fetched copies, enter STOPPED",
            ),
            Field("HALT", 2, 1, Access.RW, 0, "enter HALTED after a status other than OK"),
            Field("LOCK", 3, 1, Access.W1S, 0, "refuse writes to the windows and to ATTR"),
        ),
    )


def _ring_state() -> Register:
    return Register(
        "STATE",
        0x2C,
        "state of the ring",
        (
            Field(
                "STATE",
                0,
                3,
                Access.RO,
                State.STOPPED,
                "ERROR is left by ABORT only; HALTED by RUN or ABORT",
                State,
            ),
            Field("BUSY", 8, 1, Access.RO, 0, "something is started or outstanding"),
            Field(
                "STATUS",
                16,
                8,
                Access.RO,
                Status.OK,
                "the first reason for HALTED or ERROR",
                Status,
            ),
        ),
    )


def _channel() -> tuple[Register, ...]:
    return (
        Register(
            "ENABLE",
            0x00,
            "enable",
            (Field("ENABLE", 0, 1, Access.RW, 1, "0: no new address is issued, jobs wait"),),
        ),
        Register(
            "QUARANTINE",
            0x04,
            "quarantine after a timeout",
            (
                Field(
                    "QUARANTINED",
                    0,
                    1,
                    Access.W1C,
                    0,
                    "jobs that touch the channel end with TIMEOUT; cleared only when nothing is "
                    "outstanding",
                ),
            ),
        ),
        Register(
            "RATE",
            0x08,
            "throttle",
            (Field("BYTES", 0, 32, Access.RW, 0, "bytes in 1,024 cycles; 0 unlimited"),),
        ),
        Register("QOS", 0x0C, "AxQOS", (Field("QOS", 0, 4, Access.RW, 0, "AxQOS"),)),
        Register(
            "OUTSTANDING",
            0x10,
            "bursts issued and not answered",
            (
                Field("NOW", 0, 16, Access.RO, 0, "now"),
                Field("MAXIMUM", 16, 16, Access.RO, 0, "the most since reset"),
            ),
        ),
        Register(
            "FROZEN_STRIPE",
            0x14,
            "stripe in work at the engine's first error",
            (Field("STRIPE", 0, 32, Access.RO, 0, "read (offload) or written last, in its job"),),
        ),
        Register(
            "FROZEN_WAIT",
            0x18,
            "what the channel waited for at the engine's first error",
            (
                Field("WAIT", 0, 3, Access.RO, Wait.IDLE, "reason", Wait),
                Field("VALID", 8, 1, Access.RO, 0, "an error froze these two registers"),
            ),
        ),
    )


def _totals() -> tuple[Register, ...]:
    return (
        *_counter("CYCLES", 0x00, "cycles since reset"),
        *_counter("ERRORS", 0x08, "completions that are not OK, or could not be written"),
    )


def _channel_counters() -> tuple[Register, ...]:
    return (
        *_counter("RAW_BEATS", 0x00, "beats of words read, or made to be written, also by VERIFY"),
        *_counter("STREAM_BEATS", 0x08, "beats of streams given or taken"),
        *_counter("STALL_CREDIT", 0x10, "cycles an address waited for room in a buffer"),
        *_counter("STALL_RATE", 0x18, "cycles an address waited for RATE"),
        *_counter("STALL_ADDRESS", 0x20, "cycles an address waited for the memory's ready"),
        *_counter("STALL_TURN", 0x28, "cycles stream data waited for other channels"),
        *_counter("STALL_LINK", 0x30, "cycles stream data waited for the link"),
        *_counter("LATENCY_SUM", 0x38, "cycles from address to first data, at most 65,535 a burst"),
        *_counter("LATENCY_MAX", 0x40, "the most of those"),
        *_counter("BURSTS", 0x48, "read bursts that LATENCY_SUM counts"),
    )


def _pair(
    name: str,
    offset: int,
    text: str,
    bits: int,
    guard: Guard = Guard.NONE,
    align: int = 0,
    access: Access = Access.RW,
) -> tuple[Register, Register]:
    """Two registers of an address of ``bits`` bits whose ``align`` lowest bits are zero."""
    high = max(0, min(bits, 64) - 32)
    low = Field("LOW", align, 32 - align, access, 0, f"bits 31 to {align}")
    if high:
        upper = (Field("HIGH", 0, high, access, 0, f"bits {31 + high} to 32"),)
    else:  # takes writes if the lower half does
        upper = () if access is Access.RW else (Field("ZERO", 0, 32, Access.CONST, 0, "no bits"),)
    return (
        Register(f"{name}_LO", offset, text, (low,), guard),
        Register(f"{name}_HI", offset + 4, f"{text}, upper bits", upper, guard),
    )


def _counter(name: str, offset: int, text: str) -> tuple[Register, Register]:
    low = Field("LOW", 0, 32, Access.RO, 0, "bits 31 to 0")
    high = Field("HIGH", 0, 32, Access.RO, 0, "bits 63 to 32")
    return (
        Register(f"{name}_LO", offset, text, (low,)),
        Register(f"{name}_HI", offset + 4, f"{text}, upper bits", (high,)),
    )
