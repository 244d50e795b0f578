"""Which stripes are sent raw."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Raw
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import NUMBER_BITS, Stripe


class RawDecision(wiring.Component):
    """Decide for each stripe whether it is raw.

    With AUTO, stripe ``k`` is raw when stripe ``k - D`` would be longer compressed; ``k`` waits
    until that is known. Stripes pass combinationally.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    clear : In, a new job begins
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

    def __init__(self, config: EngineConfig):
        self.config = config
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
        count = Signal(NUMBER_BITS + 1)  # stripes of which it is known
        number = self.i.payload.number
        is_early, waits = Signal(), Signal()
        m.d.comb += [
            is_early.eq(number < distance),
            # Entry k mod D holds stripe k - D's until stripe k's replaces it.
            waits.eq((self.policy == Raw.AUTO) & ~is_early & (count + distance <= number)),
            write.en.eq(self.known),
            write.addr.eq(count),
            write.data.exceeds.eq(self.exceeds),
            read.addr.eq(number),
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
        with m.If(self.clear):
            m.d.sync += count.eq(0)
        with m.Elif(self.known):
            m.d.sync += count.eq(count + 1)
        return m
