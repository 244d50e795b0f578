"""Place of the next mask, for each word that may end one."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import add, popcount, tree
from cdma.hdl.zvc.config import Config


class JumpTable(wiring.Component):
    """For each word of the stream: where the next mask ends, if a mask ends with this word.

    Where a block takes fewer cycles than counting its mask, the ones of every word are counted as
    it comes in, data words included. Then the step from mask to mask is a lookup. A row of the
    table is written two cycles after its beat came in and can be read in the cycle after.

    Parameters
    ----------
    config : Config
        Lanes and format; a mask is no longer than a beat.
    rows : int
        Rows of the ring.

    Members
    -------
    accept, tail, words : In, beats as the ring takes them in
    row, lane : In, the word to look up
    to_lane : Out, lane in which the next mask ends
    rows_on : Out, rows from this word's to that
    """

    accept: Signal
    tail: Signal
    words: data.View
    row: Signal
    lane: Signal
    to_lane: Signal
    rows_on: Signal

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        lanes = config.lanes
        #: Rows from a mask to the next, at most.
        self.most = (lanes - 1 + config.format.mask_words + config.format.block_words) // lanes
        super().__init__(
            {
                "accept": In(1),
                "tail": In(range(rows)),
                "words": In(data.ArrayLayout(config.format.word_bits, lanes)),
                "row": In(range(rows)),
                "lane": In(range(lanes)),
                "to_lane": Out(range(lanes)),
                "rows_on": Out(range(self.most + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        groups = fmt.word_bits // 8

        # Count the ones of each byte.
        accepted = Signal()
        tail = Signal.like(self.tail, reset_less=True)
        m.d.sync += [accepted.eq(self.accept), tail.eq(self.tail)]
        counts = data.ArrayLayout(data.ArrayLayout(4, groups), lanes)
        now = Signal(counts, reset_less=True)
        before = Signal(counts, reset_less=True)
        for lane in range(lanes):
            for group in range(groups):
                byte = self.words[lane][8 * group : 8 * group + 8]
                m.d.sync += now[lane][group].eq(popcount(m, byte))
        with m.If(accepted):
            m.d.sync += before.eq(now)

        # Add up as many words as a mask has, the last of them each word in turn.
        line = [*before, *now]
        jumps = []
        for lane in range(lanes):
            words = line[lanes + lane - fmt.mask_words + 1 : lanes + lane + 1]
            first, *others = (group for word in words for group in word)
            jump = Signal(len(self.to_lane) + len(self.rows_on), name=f"jump{lane}")
            m.d.comb += jump.eq(tree(m, [add(m, first, Const(lane + fmt.mask_words)), *others]))
            jumps.append(jump)

        m.submodules.memory = memory = Memory(
            shape=data.ArrayLayout(len(jumps[0]), lanes), depth=self.rows, init=[]
        )
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(accepted),
            write.addr.eq(tail),
            write.data.eq(Cat(jumps)),
            read.addr.eq(self.row),
        ]
        found = [read.data[lane] for lane in range(lanes)]
        for bit in range(len(self.lane)):
            found = [
                Mux(self.lane[bit], high, low)
                for low, high in zip(found[::2], found[1::2], strict=True)
            ]
        m.d.comb += Cat(self.to_lane, self.rows_on).eq(found[0])
        return m
