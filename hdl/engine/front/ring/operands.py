"""What the checker compares, and the job that follows."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.front.ring.check import Window
from cdma.hdl.engine.front.ring.fetch import RINGS
from cdma.hdl.engine.job import Job
from cdma.hdl.lib.signals import duplicates


class Operands(wiring.Component):
    """Selects what is compared with a window: a descriptor's stream, its place in the arena, or a
    ring; and makes the descriptor's job.

    All outputs are combinational. Windows, bases and the jobs' operations follow ``next_ring``, a
    cycle later.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    window, base, log2, attr, completion_base, completion_log2 : In, arrays: of the rings
    arena_pointer, arena_room, arena_end : In, of ring 0
    ring, next_ring : In, the ring that is looked at; a register, and its value in the next cycle
    descriptor : In
    stripes : In, whole stripes of all of its rows
    uses_arena : In, its stream goes to the arena
    clips : In, level: its limit is compared with the arena's end
    is_clipped : In, with ``uses_arena``: the limit is beyond that
    is_range, is_second : In, a ring itself is compared; the completion ring
    host, limit, checked : Out, address, bytes and :class:`~cdma.hdl.engine.front.ring.check.Window`
        that are compared
    job : Out, array: :class:`~cdma.hdl.engine.job.Job` for each ring, with a NOP for the other one
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits = config.address_bits
        size = max(64, bits + 1)
        super().__init__(
            {
                "window": In(Window(bits)).array(RINGS),
                "base": In(bits).array(RINGS),
                "log2": In(4).array(RINGS),
                "attr": In(Attributes()).array(RINGS),
                "completion_base": In(bits).array(RINGS),
                "completion_log2": In(4).array(RINGS),
                "arena_pointer": In(bits + 1),
                "arena_room": In(bits + 1),
                "arena_end": In(bits + 1),
                "ring": In(1),
                "next_ring": In(1),
                "descriptor": In(Descriptor()),
                "stripes": In(32),
                "uses_arena": In(1),
                "clips": In(1),
                "is_clipped": In(1),
                "is_range": In(1),
                "is_second": In(1),
                "host": Out(size),
                "limit": Out(size),
                "checked": Out(Window(bits)),
                "job": Out(Job(bits)).array(RINGS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._window(m)
        d, uses_arena = self.descriptor, self.uses_arena
        job_ring, _, base_ring = duplicates(m, ~self.next_ring, "base_ring")
        bases = [of(~base_ring, self.base), of(~base_ring, self.completion_base)]
        sizes = [
            DESCRIPTOR_BYTES << of(self.ring, self.log2),
            COMPLETION_BYTES << of(self.ring, self.completion_log2),
        ]
        # The job does not wait for the choice of what is compared.
        host = Mux(uses_arena, self.arena_pointer, d.host)
        limit = Mux(uses_arena & self.is_clipped, self.arena_room, d.limit)
        m.d.comb += [self.host.eq(host), self.limit.eq(limit)]
        with m.If(self.clips):
            m.d.comb += self.limit.eq(d.limit)
        with m.If(self.is_range):
            m.d.comb += [
                self.host.eq(Mux(self.is_second, bases[1], bases[0])),
                self.limit.eq(Mux(self.is_second, sizes[1], sizes[0])),
            ]
        for number, job in enumerate(self.job):
            # An operation is looked at in the same cycle, so its ring has a register of its own.
            self._job(m, job, host, limit, job_ring != number)
        return m

    def _window(self, m):
        """The window of the ring, or the arena in place of that of the host."""
        device, _, host = duplicates(m, self.next_ring, "window_ring")
        for name in Window(self.config.address_bits).members:
            ring = device if name.startswith("device") else host
            value = of(ring, [getattr(window, name) for window in self.window])
            m.d.comb += getattr(self.checked, name).eq(value)
        with m.If(self.clips):
            m.d.comb += self.checked.host_end.eq(self.arena_end)

    def _job(self, m, job, host, limit, is_here):
        d, bits = self.descriptor, self.config.address_bits
        m.d.comb += [
            # The other port may look at the operation before it says that it is ready.
            job.op.eq(Mux(is_here, d.op, Op.NOP)),
            job.index.eq(d.index),
            job.crc.eq(d.crc),
            job.raw.eq(d.raw),
            job.rows.eq(d.rows | (d.rows == 0)),
            job.stripes.eq(self.stripes),
            job.device.eq(d.device[:bits]),
            job.host.eq(host[:bits]),
            job.index_address.eq(d.index_address[:bits]),
            job.row_bytes.eq(d.row_bytes),
            job.limit.eq(limit),
            job.pitch.eq(d.pitch),
            job.attr.eq(of(self.ring, self.attr)),
        ]


def of(ring, values):
    """The value of a ring."""
    return Mux(ring, values[1], values[0])
