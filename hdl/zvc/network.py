"""The routing networks: one cyclic butterfly, run forwards and backwards."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import add

#: A compactor of at least so many lanes decodes the positions of its switches before the register
#: in front of them. With fewer, a decoder is two gates, and only matters where the end of the
#: network is combinational.
LANES_AHEAD = 16


class Routes(data.StructLayout):
    """Positions of the switches of a network, before decoding.

    A level ``k`` has groups of ``2**(k+1)`` lanes. For each, ``level{k}`` has the destination of
    the first word of the group's upper half, modulo the size of the group.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    """

    def __init__(self, lanes: int):
        super().__init__(
            {
                f"level{level}": data.ArrayLayout(level + 1, lanes >> level + 1)
                for level in range(levels_of(lanes))
            }
        )


def routes(m: Module, ranks, offset) -> data.View:
    """Routes that bring the marked words of a beat to consecutive banks from ``offset`` on.

    Parameters
    ----------
    m : Module
        Gets the logic: an adder of ``k + 1`` bits for each group of level ``k``.
    ranks : array of numbers
        Marked words below each lane, see :class:`~cdma.hdl.lib.prefix.PrefixSum`.
    offset : Value
        Bank of the first marked word.
    """
    lanes = len(ranks)
    result = Signal(Routes(lanes), name="routes")
    for level in range(levels_of(lanes)):
        span = 1 << level
        for group, start in enumerate(result[f"level{level}"]):
            below = ranks[(2 * group + 1) * span][: level + 1]
            m.d.comb += start.eq(add(m, offset[: level + 1], below))
    return result


class Compactor(wiring.Component):
    """Send the marked words of a beat, in order, to cyclically consecutive banks.

    The ``r``-th marked word leaves in bank ``(offset + r) % lanes``: collapse and alignment in one
    network of ``log2(lanes)`` levels of 2:1 multiplexers, a reverse banyan that resolves the least
    significant bit of the destination first. Two marked words that share a switch at level ``k``
    have equal low ``k`` destination bits and are less than ``2**(k+1)`` lanes apart, so their
    ranks differ by less than that: their destinations differ in bit ``k`` and they never collide.

    The position of a switch follows from one number per group of lanes (:class:`Routes`): the words
    of the upper half have consecutive destinations, so the first of them gives all (the control of
    inverse butterflies for bit extraction: Hilewitz and Lee, 2008, here with an offset).

    Throughput one beat a cycle while ``enable``. Latency :meth:`latency` cycles: one or two levels
    before each register. Words that are not marked may be anything.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word.
    ends_registered : bool
        The outputs are registered. Else, from 8 lanes on, the last one or two levels are
        combinational: a stage of words less, for a longer path behind the network.

    Members
    -------
    enable : In, the registers load
    words : In, array of ``lanes`` words
    routes : In, :class:`Routes`, made of the mask and the offset
    bank_words : Out, array of ``lanes`` words; anything where no marked word comes
    """

    enable: Signal
    words: data.View
    routes: data.View
    bank_words: data.View

    def __init__(self, lanes: int, word_bits: int, *, ends_registered: bool = True):
        self.lanes = lanes
        self.word_bits = word_bits
        self.ends_registered = ends_registered
        super().__init__(
            {
                "enable": In(1),
                "words": In(data.ArrayLayout(word_bits, lanes)),
                "routes": In(Routes(lanes)),
                "bank_words": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    @staticmethod
    def latency(lanes: int, *, ends_registered: bool = True) -> int:
        """Cycles from ``words`` to ``bank_words``."""
        return len(_registered_levels(lanes, ends_registered))

    def elaborate(self, platform):
        m = Module()
        levels = levels_of(self.lanes)
        registered = _registered_levels(self.lanes, self.ends_registered)
        words, starts, crossings = list(self.words), self.routes, {}
        for level in range(levels):
            crossing = crossings[level] if level in crossings else crossing_of(m, starts, level)
            words = switched(words, crossing, level)
            if level in registered:
                decodes = self.lanes >= LANES_AHEAD or not self.ends_registered
                ahead = range(level + 1, min(level + 3, levels) if decodes else 0)
                decoded = [Cat(crossing_of(m, starts, k)) for k in ahead]
                shape, controls = starts.shape(), Cat(starts, *decoded)
                words, controls = _stage(m, f"after{level}", self.enable, words, controls)
                starts, decoded = data.View(shape, controls[: shape.size]), controls[shape.size :]
                parts = (decoded[i : i + self.lanes] for i in range(0, len(decoded), self.lanes))
                crossings = dict(zip(ahead, parts, strict=True))
        m.d.comb += [self.bank_words[lane].eq(word) for lane, word in enumerate(words)]
        return m


class Expander(wiring.Component):
    """Bring words from cyclically consecutive banks to the marked lanes of a beat, in order.

    The reverse of :class:`Compactor`: the marked lane of rank ``r`` gets the word of bank
    ``(offset + r) % lanes`` if that has one, every other lane gets zero. The switches have the same
    positions as in the compactor, and the words pass them in the opposite order.

    Throughput one beat a cycle while ``enable``. Latency :meth:`latency` cycles: all inputs are
    registered, at most three levels follow each register, and the last level's are combinational.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word.
    reports_missing : bool
        With a port ``missing``.
    fills : bool
        With a port ``fill``.

    Members
    -------
    enable : In, the registers load
    bank_words : In, array of ``lanes`` words
    has_word : In, the banks that have a word
    mask : In, the lanes that get a word
    routes : In, :class:`Routes`
    words : Out, array of ``lanes`` words
    missing : Out, the marked lanes whose bank has no word
    fill : In, word of all lanes that get none, in place of zero
    """

    enable: Signal
    bank_words: data.View
    has_word: Signal
    mask: Signal
    routes: data.View
    words: data.View

    def __init__(
        self, lanes: int, word_bits: int, *, reports_missing: bool = False, fills: bool = False
    ):
        self.lanes = lanes
        self.word_bits = word_bits
        self.reports_missing = reports_missing
        self.fills = fills
        super().__init__(
            {
                "enable": In(1),
                "bank_words": In(data.ArrayLayout(word_bits, lanes)),
                **({"missing": Out(lanes)} if reports_missing else {}),
                **({"fill": In(word_bits)} if fills else {}),
                "has_word": In(lanes),
                "mask": In(lanes),
                "routes": In(Routes(lanes)),
                "words": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    @staticmethod
    def latency(lanes: int) -> int:
        """Cycles from ``bank_words`` to ``words``."""
        return -(-levels_of(lanes) // 3)

    def elaborate(self, platform):
        m = Module()
        levels = levels_of(self.lanes)
        words, mask = list(self.bank_words), self.mask
        # Decoded before the first register, so that no switch waits for a decoder.
        crossings = [crossing_of(m, self.routes, level) for level in range(levels)]
        # The valid bit of a word is a level ahead of it: at the end it has a word to drive.
        has_word = switched(self.has_word, crossings[-1], levels - 1)
        for level in reversed(range(levels)):
            if level == levels - 1 or level % 3 == 2:
                controls = Cat(mask, *has_word, *map(Cat, crossings))
                words, controls = _stage(m, f"before{level}", self.enable, words, controls)
                parts = range(0, len(controls), self.lanes)
                mask, has_word, *crossings = (controls[i : i + self.lanes] for i in parts)
            words = switched(words, crossings.pop(), level)
            if level:
                has_word = switched(has_word, crossings[-1], level - 1)
        for lane, word in enumerate(words):
            fill = self.fill if self.fills else 0
            m.d.comb += self.words[lane].eq(Mux(mask[lane] & has_word[lane], word, fill))
        if self.reports_missing:
            m.d.comb += self.missing.eq(mask & ~Cat(has_word))
        return m


def compact(m: Module, words: list, starts: data.View, levels: range) -> list:
    """The words of a :class:`Compactor` behind some of its levels, from those in front of them,
    without registers; ``starts`` are :class:`Routes`."""
    for level in levels:
        words = switched(words, crossing_of(m, starts, level), level)
    return words


def expand(m: Module, words: list, starts: data.View) -> list:
    """The words of an :class:`Expander`, without its registers: from bank ``r`` to the marked lane
    of rank ``r`` by ``starts``, :class:`Routes`; lanes that are not marked get anything."""
    for level in reversed(range(levels_of(len(words)))):
        words = switched(words, crossing_of(m, starts, level), level)
    return words


def levels_of(lanes: int) -> int:
    """Levels of switches of a network of ``lanes`` lanes; ValueError if that is no power of two."""
    if lanes < 2 or lanes & (lanes - 1):
        raise ValueError(f"Number of lanes must be a power of two of at least 2, not {lanes!r}")
    return lanes.bit_length() - 1


def _registered_levels(lanes, ends_registered):
    """Levels of a compactor with a register behind them."""
    levels = levels_of(lanes)
    every = list(range((levels - 1) % 2, levels, 2))
    return every if ends_registered or levels <= 2 else every[:-1]


def crossing_of(m: Module, starts, level: int) -> list:
    """Per lane: its word changes sides at its switch; ``starts`` are :class:`Routes`."""
    span = 1 << level
    result = []
    for group, start in enumerate(starts[f"level{level}"]):
        switches = Signal(span, name=f"crossing{level}_{group}")
        for index, switch in enumerate(switches):
            # The upper half's word here, if there is one, moves to the first destination from
            # `start` on that is `index` modulo the span; in the lower half it has to cross.
            wraps = start[:level] > index if level else 0
            m.d.comb += switch.eq(~(start[level] ^ wraps))
        result += [*switches, *switches]
    return result


def switched(values: list, crossing: list, level: int) -> list:
    """The values of all lanes behind the switches of a level."""
    return [
        Mux(crossing[lane], values[lane ^ 1 << level], values[lane]) for lane in range(len(values))
    ]


def _stage(m: Module, name: str, enable, words: list, starts):
    """Registers for words and routes."""
    held = [Signal.like(word, name=f"{name}_{i}", reset_less=True) for i, word in enumerate(words)]
    held_starts = Signal.like(starts, name=f"{name}_routes", reset_less=True)
    with m.If(enable):
        m.d.sync += [register.eq(word) for register, word in zip(held, words, strict=True)]
        m.d.sync += held_starts.eq(starts)
    return held, held_starts
