"""Other networks for the compressor's words, to measure the cyclic butterfly against.

All have the function of :class:`cdma.hdl.zvc.network.Compactor`: bank ``(offset + r) % lanes`` gets
the ``r``-th marked word of a beat, the other banks get zero. All have the same ports, registered
outputs, and a throughput of one beat a cycle.
"""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.network import Compactor, levels_of, routes


class Network(wiring.Component):
    """Ports of a network.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word.

    Members
    -------
    words : In, array of ``lanes`` words
    mask : In, the marked words
    ranks : In, array: number of marked words below each
    offset : In, bank of the first marked word
    bank_words : Out, array of ``lanes`` words
    """

    def __init__(self, lanes: int, word_bits: int):
        self.lanes = lanes
        self.word_bits = word_bits
        self.levels = levels_of(lanes)
        super().__init__(
            {
                "words": In(data.ArrayLayout(word_bits, lanes)),
                "mask": In(lanes),
                "ranks": In(data.ArrayLayout(self.levels, lanes)),
                "offset": In(self.levels),
                "bank_words": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from ``words`` to ``bank_words``."""
        return 1

    def _give(self, m: Module, words: list) -> None:
        m.d.sync += [self.bank_words[bank].eq(word) for bank, word in enumerate(words)]


class Crossbar(Network):
    """Each bank selects one of all lanes: ``lanes**2`` words wide."""

    def elaborate(self, platform):
        m = Module()
        targets = _targets(m, self)
        banks = []
        for bank in range(self.lanes):
            word = Value.cast(0)
            for lane, target in enumerate(targets):
                chosen = self.mask[lane] & (target == bank)
                word = word | (self.words[lane] & chosen.replicate(self.word_bits))
            banks.append(word)
        self._give(m, banks)
        return m


class ShiftRotate(Network):
    """Collapse, then align: the usual pair of networks with ``log2(lanes)`` levels each.

    A logarithmic shifter moves each word down by the number of unmarked words below it. Each level
    uses one bit of this number, least significant first, so two words never conflict. A rotator
    moves the collapsed words to the banks from ``offset`` on.
    """

    #: Whether a register is between the two.
    is_pipelined = False

    @property
    def latency(self) -> int:
        return 2 if self.is_pipelined else 1

    def elaborate(self, platform):
        m = Module()
        words = [
            word & valid.replicate(self.word_bits)
            for word, valid in zip(self.words, self.mask, strict=True)
        ]
        moves = []  # remaining distance of each word; 0 without a word
        for lane, (valid, rank) in enumerate(zip(self.mask, self.ranks, strict=True)):
            move = Signal(self.levels, name=f"move_{lane}")
            m.d.comb += move.eq((lane - rank) & valid.replicate(self.levels))
            moves.append(move)
        for level in range(self.levels):
            span = 1 << level
            moved, left = [], []
            for lane in range(self.lanes):
                stays = ~moves[lane][level]
                word, move = words[lane] & stays.replicate(self.word_bits), moves[lane]
                move = move & stays.replicate(self.levels)
                if lane + span < self.lanes:
                    comes = moves[lane + span][level]
                    word |= words[lane + span] & comes.replicate(self.word_bits)
                    move |= moves[lane + span] & comes.replicate(self.levels)
                moved.append(_named(m, word, f"word{level}_{lane}"))
                left.append(_named(m, move, f"move{level}_{lane}"))
            words, moves = moved, left
        offset = self.offset
        if self.is_pipelined:
            words = [registered(m, word, f"collapsed_{i}") for i, word in enumerate(words)]
            offset = registered(m, offset, "offset_after")
        for level in range(self.levels):
            words = [
                Mux(offset[level], words[(lane - (1 << level)) % self.lanes], words[lane])
                for lane in range(self.lanes)
            ]
        self._give(m, words)
        return m


class RegisteredShiftRotate(ShiftRotate):
    """:class:`ShiftRotate` with a register between collapsing and aligning."""

    is_pipelined = True


class TaggedButterfly(Network):
    """The cyclic butterfly in one cycle. Each word carries its destination through the levels."""

    def elaborate(self, platform):
        m = Module()
        words, tags, targets = list(self.words), list(self.mask), _targets(m, self)
        for level in range(self.levels):
            span = 1 << level
            crosses = [
                _named(
                    m,
                    tags[lane] & (targets[lane][level] != (lane >> level & 1)),
                    f"crosses{level}_{lane}",
                )
                for lane in range(self.lanes)
            ]
            pairs = [(lane, lane ^ span) for lane in range(self.lanes)]
            words = [Mux(crosses[other], words[other], words[lane]) for lane, other in pairs]
            targets = [Mux(crosses[other], targets[other], targets[lane]) for lane, other in pairs]
            tags = [crosses[other] | (tags[lane] & ~crosses[lane]) for lane, other in pairs]
        self._give(
            m,
            [word & tag.replicate(self.word_bits) for word, tag in zip(words, tags, strict=True)],
        )
        return m


class RoutedButterfly(Network):
    """The butterfly of the compressor with its registers and with the computation of its routes."""

    @property
    def latency(self) -> int:
        return Compactor.latency(self.lanes)

    def elaborate(self, platform):
        m = Module()
        m.submodules.network = network = Compactor(self.lanes, self.word_bits)
        m.d.comb += [
            network.enable.eq(1),
            # In the compressor, an unmarked word is zero already, or its place is not used.
            *(
                network.words[lane].eq(Mux(self.mask[lane], word, 0))
                for lane, word in enumerate(self.words)
            ),
            network.routes.eq(routes(m, self.ranks, self.offset)),
            self.bank_words.eq(network.bank_words),
        ]
        return m


class BareSwitches(wiring.Component):
    """Only the multiplexers of a butterfly, with decoded switch controls as inputs.

    No network with ``log2(lanes)`` levels has fewer multiplexers.

    Members
    -------
    words : In, array of ``lanes`` words
    crosses : In, for each level an array of a bit for each switch
    bank_words : Out, array of ``lanes`` words, combinational
    """

    def __init__(self, lanes: int, word_bits: int):
        self.lanes = lanes
        self.levels = levels_of(lanes)
        words = data.ArrayLayout(word_bits, lanes)
        super().__init__(
            {
                "words": In(words),
                "crosses": In(data.ArrayLayout(lanes // 2, self.levels)),
                "bank_words": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words = list(self.words)
        for level in range(self.levels):
            span = 1 << level
            switch = {}
            for lane in range(self.lanes):
                switch.setdefault(min(lane, lane ^ span), len(switch))
            words = [
                Mux(
                    self.crosses[level][switch[min(lane, lane ^ span)]],
                    words[lane ^ span],
                    words[lane],
                )
                for lane in range(self.lanes)
            ]
        m.d.comb += [self.bank_words[lane].eq(word) for lane, word in enumerate(words)]
        return m


def _targets(m: Module, network: Network) -> list:
    targets = []
    for lane, rank in enumerate(network.ranks):
        target = Signal(network.levels, name=f"target_{lane}")
        m.d.comb += target.eq(network.offset + rank)
        targets.append(target)
    return targets


def _named(m: Module, value, name: str) -> Signal:
    signal = Signal(len(value), name=name)
    m.d.comb += signal.eq(value)
    return signal
