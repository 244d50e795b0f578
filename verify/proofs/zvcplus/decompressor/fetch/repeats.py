"""Bits of repeats of blocks, compared with the stream behind their controls."""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.decompressor.repeats import PART
from cdma.verify.formal.stream_rules import take


class BlockRepeats:
    """A block with repeats has a bit for each of its ones, which stand behind the control of the
    step that gives the block. They leave once. Of floats they are counted, and compared with the
    number in the control; of int8 a meter gets them, and all else that makes a payload's length.

    Parameters
    ----------
    m : Module
        Gets the logic.
    dut : ControlFetcher
    parts : dict
        Its parts, by the names of their classes.
    header : Signal
        Header of the control of the step before.
    ones : Signal
        In a step's second cycle: ones of the mask of that control.

    Members
    -------
    sent : number in that control
    all, repeated : kept from a step's second cycle: bits of repeats of the block that it gives, and
        how many of its words are repeated, at most all
    is_many : kept from then on: of floats, more are repeated than there are
    """

    def __init__(self, m: Module, dut, parts, header, ones):
        word = dut.config.word
        self._dut, self._parts, self._header = dut, parts, header
        self._steps, self._lengths = parts["ControlSteps"], parts["PayloadLength"]
        self._reader = reader = parts["RepeatReader"]
        self.sent = Signal.like(self._lengths.repeats, name="sent_number")
        self.all = Signal(range(word.block_words + 1), name="all_repeats")
        self.repeated, self.is_many = Signal.like(self.all, name="repeated"), Signal(name="is_many")
        steps, used = self._steps, header.has_repeats
        gives = steps.phase[1] & steps.has_block
        field = (header.body >> (header.nibbles << 2))[: word.count_bits]
        is_many = Signal()
        m.d.comb += [
            self.sent.eq(field + word.is_float),
            is_many.eq(used & (self.sent > ones)),
            # The header's reader has no more bits than a control.
            Assert(reader.bits[: len(parts["HeaderReader"].bits)] == parts["HeaderReader"].bits),
        ]
        with m.If(gives):
            m.d.sync += [
                self.all.eq(Mux(used, ones, 0)),
                self.repeated.eq(Mux(used, Mux(is_many, ones, self.sent), 0)),
                self.is_many.eq(is_many),
            ]
            m.d.comb += [
                Assert(self._lengths.has_repeats == used),
                Assert(~used | (self._lengths.repeats == self.sent)),
                Cover(used & (ones == 3)),
            ]
        # Used until two cycles behind a step.
        self._uses = Signal(name="uses_repeats")
        kept = Signal(name="used_repeats")
        with m.If(gives):
            m.d.sync += kept.eq(used)
        m.d.comb += self._uses.eq(steps.has_block & kept)
        self._loaded, self._counted = Signal(name="loaded"), Signal(name="counted")
        m.d.sync += [self._loaded.eq(steps.phase[3]), self._counted.eq(self._loaded)]
        own = (steps.phase[2] | steps.phase[3]) & steps.has_block
        self._is_used = Signal(name="is_used")  # by the block of the last step that ended
        with m.If(steps.phase[3]):
            m.d.sync += self._is_used.eq(self._uses)
        with m.If(own | ((self._loaded | self._counted) & self._is_used)):
            m.d.comb += Assert(self._lengths.repeat_bits == self.all)
            if word.is_float:
                m.d.comb += Assert(self._lengths.repeated == self.repeated)
        if word.is_float:
            self._count(m)
        else:
            self._measure(m)

    def follow(self, m: Module, number, bit, control) -> None:
        """Bits leave once, and are those of the stream.

        Parameters
        ----------
        number : Signal
            Any number of a bit from the place of a step's control on.
        bit : Signal
            In a step's last cycle: that bit.
        control : Signal
            In a step's last cycle: bits of the control.
        """
        dut, steps, reader = self._dut, self._steps, self._reader
        leaves, is_due = take(m, dut.o_repeats, "o_repeats"), Signal(name="has_repeats")
        index, is_here = Signal.like(number, name="index"), Signal(name="index_is_here")
        was = Signal(name="repeat_bit")
        m.d.comb += [
            Assert(dut.o_repeats.valid == is_due),
            Assert(reader.has_room == (~is_due | dut.o_repeats.ready)),
            # Room stays until it is used.
            Assert(steps.phase[0] | ~is_due),
        ]
        with m.If(steps.phase[3]):
            m.d.sync += [
                is_due.eq(self._uses),
                index.eq(number - control),
                is_here.eq((number >= control) & (number - control < dut.config.word.block_words)),
                was.eq(bit),
            ]
        with m.Elif(leaves):
            m.d.sync += is_due.eq(0)
        with m.If(is_due & is_here):
            m.d.comb += [
                Assert(dut.o_repeats.payload.bit_select(index, 1) == was),
                Cover(leaves & was & (index == 5)),
                Cover(leaves & steps.is_end),
            ]

    def _count(self, m):
        """The bits that are set, three cycles after they are cut out."""
        bits = Value.cast(self._dut.o_repeats.payload)
        counts = []
        for at in range(0, len(bits), PART):
            part = Signal(range(PART + 1), name=f"set{at}")
            own = [bits[k] & (self.all > k) for k in range(at, at + PART)]
            m.d.sync += part.eq(sum(own))
            counts.append(part)
        is_wrong, check = Signal(name="is_wrong"), self._parts["StreamCheck"]
        with m.If(self._counted):
            m.d.sync += is_wrong.eq(self._is_used & (sum(counts) != self.repeated))
        m.d.comb += [Assert(check.is_miscounted == is_wrong), Cover(is_wrong)]

    def _measure(self, m):
        """What the meter gets of a block, but for its widths."""
        steps, meter, check = self._steps, self._parts["PayloadMeter"], self._parts["StreamCheck"]
        masks = self._parts["MaskDecoder"]
        size = len(masks.counts) // len(meter.words)
        kept, length = Signal.like(meter.words, name="ones_of_groups"), Signal.like(meter.length)
        with m.If(steps.phase[1] & steps.has_block):
            m.d.sync += length.eq(self.sent)
            for group, count in enumerate(kept):
                own = [masks.counts[group * size + k] for k in range(size)]
                m.d.sync += count.eq(sum(own))
        m.d.comb += [
            Assert(meter.load == steps.phase[3]),
            Assert(check.is_miscounted == meter.is_wrong),
        ]
        with m.If(steps.phase[3]):
            m.d.comb += Assert(meter.uses == self._uses)
        with m.If(steps.phase[3] & self._uses):
            m.d.comb += [
                Assert(meter.words.as_value() == kept.as_value()),
                Assert(meter.length == length),
            ]
        with m.If(self._loaded):
            m.d.comb += Assert(meter.repeated == self._dut.o_repeats.payload)
