"""The ring: each row is kept until the reader passes it, and its content is reported."""

from dataclasses import replace

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import Proof, faults

CONFIG, SMALL = Config.of(8, 32), Config.of(2, 8, 32)


class Holds(Elaboratable):
    """A beat, picked at the input, is readable in every lane by both readers until it is passed.

    ``info`` has the number of whole words of each beat at the input. The reader passes any number
    of stored rows at any time. The ring has room while it is not full.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, rows = dut.config.lanes, dut.rows
        enters = offer(m, dut.i, "i")
        passes = Signal(range(rows + 1))
        m.d.comb += [
            passes.eq(anything(m, len(passes), "passes")),
            dut.has_room.eq(anything(m, 1, "has_room")),
        ]

        # Stored rows, from the head of the ring.
        head, level = Signal(range(rows)), Signal(range(rows + 1))
        ahead = [Signal(range(rows), name=f"ahead{row}") for row in range(rows)]
        m.d.comb += [
            Assume(passes <= level),
            Assume(~dut.has_room | (level != rows)),
            *(ahead[row].eq((row + rows - head) % rows) for row in range(rows)),
        ]
        m.d.sync += [
            head.eq((head + passes) % rows),
            level.eq(level + enters - passes),
        ]
        m.d.comb += [
            Assert(dut.accept == enters),
            Assert(head < rows),
            Assert(level <= rows),
            Assert(dut.i.ready == dut.has_room),
            Assert(dut.tail == self._index((head + level) % rows)),
            Cover(level == rows),
            Cover((passes != 0) & (level == 1) & (head == rows - 1)),
        ]

        self._check_info(m)

        # The picked beat.
        is_inside, at, lane = Signal(), Signal(range(rows)), Signal(range(lanes))
        m.d.comb += lane.eq(AnyConst(len(lane)))
        word = Signal.like(dut.words_a[0])
        leaves = is_inside & (Array(ahead)[at] < passes)
        with m.If(enters & ~is_inside & anything(m, 1, "pick")):
            m.d.sync += [
                is_inside.eq(1),
                at.eq((head + level) % rows),
                word.eq(dut.i.payload.words[lane]),
            ]
        with m.Elif(leaves):
            m.d.sync += [is_inside.eq(0), at.eq(0), word.eq(0)]
        for reader, indices in (("a", dut.rows_a), ("b", dut.rows_b)):
            m.d.comb += [
                indices.as_value().eq(anything(m, len(indices.as_value()), f"rows_{reader}")),
            ]
            if not dut.index.one_hot:
                m.d.comb += [Assume(index < rows) for index in indices]
        row_name = "dut.bank{}_row{}" if dut.config.is_asic else "dut.bank{}[{}]"
        memory = [
            [probe(m, row_name.format(bank, row), len(word)) for row in range(rows)]
            for bank in range(lanes)
        ]
        with m.If(is_inside):
            m.d.comb += [
                Assert(Array(ahead)[at] < level),
                Assert(Array([Array(bank)[at] for bank in memory])[lane] == word),
            ]
            for indices, words in ((dut.rows_a, dut.words_a), (dut.rows_b, dut.words_b)):
                with m.If(indices[lane] == self._index(at)):
                    m.d.comb += [Assert(words[lane] == word), Cover(leaves & (word != 0))]
                if dut.index.one_hot:
                    m.d.comb += Assert((indices[lane] != 0) | (words[lane] == 0))
        return m

    def _index(self, row):
        """Index of a row as the ring has it."""
        return 1 << row if self.dut.index.one_hot else row

    def _check_info(self, m):
        """Assert the information about the beat at the input, for each number of kept bytes."""
        config, beat, info = self.dut.config, self.dut.i.payload, self.dut.info
        count, ragged = Signal.like(info.count), Signal()
        is_known = Signal(init=1)
        with m.If(~beat.last):
            m.d.comb += count.eq(config.lanes)
        with m.Else(), m.Switch(beat.keep):
            for kept in range(config.beat_bytes + 1):
                whole, rest = divmod(kept, config.format.word_bytes)
                with m.Case((1 << kept) - 1):
                    m.d.comb += [count.eq(whole), ragged.eq(rest != 0)]
            with m.Default():  # the kept bytes of a stream's beat are contiguous
                m.d.comb += is_known.eq(0)
        m.d.comb += [
            Assert(info.last == beat.last),
            Assert(~is_known | ((info.count == count) & (info.ragged == ragged))),
            Cover(beat.last & (info.count != 0)),
        ]


PROOFS = (
    Proof(
        name="ring",
        promise="A row is kept until the reader passes it, and its word count is right",
        components=(StreamRing,),
        design=lambda size: Holds(StreamRing(*size)),
        sizes={
            "2x8, 3 rows": (SMALL, 3),
            "8x32, 2 rows": (CONFIG, 2),
            "8x32, 5 rows": (CONFIG, 5),
            "8x32, 6 rows": (CONFIG, 6),
            "2x8, 3 rows of flip-flops": (replace(SMALL, target="asic"), 3),
            "8x32, 4 rows of flip-flops": (replace(CONFIG, target="asic"), 4),
            "8x8b8, 7 rows of flip-flops": (Config.parse("8x8b8-asic"), 7),
        },
        slow=(
            *(f"8x32, {rows} rows" for rows in (2, 5, 6)),
            "8x32, 4 rows of flip-flops",
            "8x8b8, 7 rows of flip-flops",
        ),
        broken=faults(
            (SMALL, 3),
            10,
            stuck_at(1, "dut.accept"),
            stuck_at(0, "dut.tail", 1),
            stuck_at(1, "dut.words_a", 3),
            stuck_at(0, "dut.info", 1),
            stuck_at(1, "dut.info", 3),
        ),
    ),
)
