"""The counts of both rings, and what software writes to them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS
from cdma.hdl.lib.lookahead import exceeds_later, incremented, sum_in_parts
from cdma.hdl.lib.signals import registered

_PART_BITS = 4


class Counts(wiring.Component):
    """SQ TAIL, CQ HEAD and the number of completions of both rings.

    A count that software writes is checked in the cycle after the write. In the next cycle
    ``is_error`` and ``has_read`` say what it was, and after that it counts; a wrong one is ignored.

    Members
    -------
    ring, is_read : In, of the address that is written: the ring, and CQ HEAD in place of SQ TAIL
    writes : In, one cycle: software writes
    written : In, the count; stable in the two cycles after ``writes``
    log2 : In, array: sizes of the submission rings
    completes : In, a bit for each ring, one cycle: a completion has arrived
    clear : In, counts start over; one that is checked meanwhile is ignored
    tail, head, completion_head : Out, arrays: descriptors submitted and completed, completions read
    doorbell, doorbell_ring : Out, a tail was written, in the two cycles after ``writes``
    is_error : Out, a bit for each ring: a tail was more than the ring's entries ahead, or more
        completions were read than there are, or fewer than before
    has_read : Out, a bit for each ring: software has read completions, and not all
    """

    def __init__(self):
        super().__init__(
            {
                "ring": In(1),
                "is_read": In(1),
                "writes": In(1),
                "written": In(COUNT_BITS),
                "log2": In(4).array(RINGS),
                "completes": In(RINGS),
                "clear": In(1),
                "tail": Out(COUNT_BITS).array(RINGS),
                "head": Out(COUNT_BITS).array(RINGS),
                "completion_head": Out(COUNT_BITS).array(RINGS),
                "doorbell": Out(1),
                "doorbell_ring": Out(1),
                "is_error": Out(RINGS),
                "has_read": Out(RINGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Written, and checked.
        checks, follows, ring, is_read = Signal(), Signal(), Signal(), Signal()
        is_wrong, is_all = Signal(), Signal()
        m.d.sync += [checks.eq(self.writes & ~self.clear), follows.eq(checks & ~self.clear)]
        with m.If(self.writes):
            m.d.sync += [ring.eq(self.ring), is_read.eq(self.is_read)]
        is_wrong_now, is_all_now = self._compare(m, is_read)
        m.d.sync += [is_wrong.eq(is_wrong_now), is_all.eq(is_all_now)]
        m.d.comb += [
            self.doorbell.eq((checks | follows) & ~is_read),
            self.doorbell_ring.eq(ring),
        ]
        for number in range(RINGS):
            is_here = follows & (ring == number)
            tail, head = self.tail[number], self.head[number]
            completion_head = self.completion_head[number]
            m.d.comb += [
                self.is_error[number].eq(is_here & is_wrong),
                self.has_read[number].eq(is_here & is_read & ~is_wrong & ~is_all),
            ]
            with m.If(self.clear):
                m.d.sync += [tail.eq(0), completion_head.eq(0), head.eq(0)]
            with m.Else():
                with m.If(self.completes[number]):
                    m.d.sync += head.eq(incremented(head, 1))
                with m.If(is_here & ~is_wrong & ~is_read):
                    m.d.sync += tail.eq(self.written)
                with m.If(is_here & ~is_wrong & is_read):
                    m.d.sync += completion_head.eq(self.written)
        return m

    def _compare(self, m, is_read):
        """Whether a count is wrong, and whether it is the head; a cycle later.

        A tail may be ahead of the head by as many as the ring has entries: a number is more than
        ``2**log2`` when the number less one has a bit from ``log2`` on, and it is not zero. A count
        of completions must not be past the head, nor behind the one before: that would take entries
        back which were promised to descriptors on their way. Two such counts differ by the largest
        ring at most, half of all counts, and only the head is that much ahead of another one.
        """
        head = Mux(self.ring, self.head[1], self.head[0])
        # written - head - 1, or written - head, whose complement is head - written - 1.
        total = sum_in_parts(
            m, Cat(1, self.written), Cat(self.is_read, ~head), "rest", part=_PART_BITS
        )
        less_one = total[1:] ^ is_read.replicate(COUNT_BITS)
        largest = COUNT_BITS - 1
        log2 = registered(
            m, Mux(self.is_read, largest, Mux(self.ring, self.log2[1], self.log2[0])), "log2"
        )
        is_zero = less_one.all()
        beyond = Cat(less_one[bit] & (log2 <= bit) for bit in range(COUNT_BITS))
        before = Mux(self.ring, self.completion_head[1], self.completion_head[0])
        borrows = exceeds_later(m, before[:-1], None, self.written[:-1], "back", part=_PART_BITS)
        differs = registered(m, before[-1] ^ self.written[-1], "differs")
        is_back = is_read & (differs ^ borrows)
        return (beyond.any() | is_back) & ~is_zero, is_zero
