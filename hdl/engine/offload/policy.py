"""Which stripes are sent raw."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Raw
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Stripe


class RawDecision(wiring.Component):
    """Decide for each stripe whether it is raw.

    With AUTO, stripe ``k`` is raw when stripe ``k - D`` would be longer compressed; ``k`` waits
    until that is known. Stripes pass combinationally.

    Parameters
    ----------
    config : EngineConfig
    most : int
        Most stripes that are given and not known yet, with any policy.

    Members
    -------
    clear : In, a new job begins; sizes of the one before may still become known
    policy : In, a :class:`~cdma.engine_codes.Raw`
    i, o : In, Out streams of :class:`~cdma.hdl.engine.common.records.Stripe`
    known : In, it is known of the next stripe, in order, whether it would be longer
    exceeds : In, it would
    """

    clear: Signal
    policy: Signal
    i: stream.Interface
    o: stream.Interface
    known: Signal
    exceeds: Signal

    def __init__(self, config: EngineConfig, most: int = 0):
        self.config, self.most = config, most
        super().__init__(
            {
                "clear": In(1),
                "policy": In(2),
                "i": In(stream.Signature(Stripe(config))),
                "o": Out(stream.Signature(Stripe(config))),
                "known": In(1),
                "exceeds": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        distance = self.config.auto_distance
        m.submodules.memory = memory = Memory(
            shape=data.StructLayout({"exceeds": 1}), depth=distance, init=[]
        )
        write, read = memory.write_port(), memory.read_port(domain="comb")
        # Stripes that were given, and of which it is known, of all jobs and modulo D.
        given, count = Signal(range(distance)), Signal(range(distance))
        number = self.i.payload.number
        # Stripes that were given and are not known yet: with AUTO at most D.
        unknown = Signal(range(2 * distance + self.most))
        is_early = Signal(init=1)
        waits = Signal()
        moves = Signal()
        m.d.comb += [
            # Entry k mod D holds stripe k - D's until stripe k's replaces it.
            waits.eq((self.policy == Raw.AUTO) & (unknown >= distance)),
            moves.eq(self.o.valid & self.o.ready),
            write.en.eq(self.known),
            write.addr.eq(count),
            write.data.exceeds.eq(self.exceeds),
            read.addr.eq(given),
            self.o.valid.eq(self.i.valid & ~waits),
            self.i.ready.eq(self.o.ready & ~waits),
            self.o.payload.eq(self.i.payload),
            self.o.payload.raw.eq(
                Mux(
                    self.policy == Raw.AUTO,
                    ~is_early & read.data.exceeds,
                    self.policy == Raw.ALWAYS,
                )
            ),
        ]
        m.d.sync += [
            given.eq(given + moves),
            count.eq(count + self.known),
            unknown.eq(unknown + moves - self.known),
        ]
        with m.If(self.clear):
            m.d.sync += is_early.eq(1)
        with m.Elif(moves & number[: distance.bit_length() - 1].all()):
            m.d.sync += is_early.eq(0)
        return m
