"""One channel of a prefetch: buffer, decompressor and writer."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.records import NUMBER_BITS, Row
from cdma.hdl.engine.job import Events, WriteClient
from cdma.hdl.engine.prefetch.codec import StripeDecompressor
from cdma.hdl.engine.prefetch.records import StripeError, StripeHalt, StripeTag
from cdma.hdl.engine.prefetch.writer import StripeWriter
from cdma.hdl.lib.fifo import Fifo

#: Stripes that wait in a channel, a power of two.
WAITING = 32


class ChannelTask(data.StructLayout):
    """A stripe of the channel: ``address`` and ``words`` in memory, ``number`` in its job; ``raw``,
    it is not compressed; ``tag``."""

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "address": unsigned(config.address_bits),
                "words": unsigned(config.stripe_words.bit_length()),
                "number": unsigned(NUMBER_BITS),
                "raw": unsigned(1),
                "tag": StripeTag(config),
            }
        )


class PrefetchChannel(wiring.Component):
    """Keep rows in the buffer QUEUE, decompress them and write the words in bursts.

    Throughput one beat a cycle on the side that has more of them. ``i.ready`` and ``has_room`` come
    from registers.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    push : In, take ``task`` in this cycle: only while ``has_room``, and not in the cycle behind
        another one
    task : In, :class:`ChannelTask`
    has_room : Out
    i : In stream of :class:`~cdma.hdl.engine.common.records.Row`, of the tasks in order
    halt : In, :class:`~cdma.hdl.engine.prefetch.records.StripeHalt`
    discard : In, write nothing
    lost : In, the channel is in quarantine: nothing more is written, each stripe is a TIMEOUT
    hold : In, issue no address in this cycle
    attr : In, attributes of the addresses
    client : Out, :class:`~cdma.hdl.engine.job.WriteClient`
    o_error : Out streams of :class:`~cdma.hdl.engine.prefetch.records.StripeError`: of the codec,
        from the stripe's offset on; of the writer
    outstanding, issued : Out, see :class:`~cdma.hdl.engine.prefetch.writer.StripeWriter`
    events : Out, :class:`~cdma.hdl.engine.job.Events`
    decoded, written : Out, one cycle: the next stripe in order was given by the codec, and its
        status is known; was answered by the memory
    drained : Out, nothing is in the writer's buffer or outstanding
    idle : Out, nothing is to be done
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.writer = writer = StripeWriter(config)
        super().__init__(
            {
                "push": In(1),
                "task": In(ChannelTask(config)),
                "has_room": Out(1),
                "i": In(stream.Signature(Row(config))),
                "halt": In(StripeHalt(config)),
                "discard": In(1),
                "lost": In(1),
                "hold": In(1),
                "attr": In(Attributes()),
                "client": Out(WriteClient(config.address_bits, config.beat_bytes)),
                "o_error": Out(stream.Signature(StripeError(config))).array(2),
                "outstanding": Out(writer.outstanding.shape()),
                "issued": Out(writer.issued.shape()),
                "events": Out(Events()),
                "decoded": Out(1),
                "written": Out(1),
                "drained": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.queue = queue = Fifo(Row(config), config.queue_bytes // config.beat_bytes)
        m.submodules.codec = codec = StripeDecompressor(config)
        m.submodules.writer = writer = self.writer
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wiring.connect(m, queue.o, codec.i)
        wiring.connect(m, codec.o, writer.i)
        wiring.connect(m, writer.client, wiring.flipped(self.client))
        wiring.connect(m, codec.o_error, wiring.flipped(self.o_error[0]))
        wiring.connect(m, writer.o_error, wiring.flipped(self.o_error[1]))
        is_left, number = self._keep(m, codec.i_stripe, writer.i_place)
        m.d.comb += [
            *(
                getattr(writer, name).eq(getattr(self, name))
                for name in ("halt", "discard", "lost", "hold", "attr")
            ),
            *(
                getattr(self, name).eq(getattr(writer, name))
                for name in ("outstanding", "issued", "written", "drained")
            ),
            self.decoded.eq(codec.done),
            self.events.raw_beats.eq(codec.o.valid & codec.o.ready),
            self.events.stream_beats.eq(queue.o.valid & queue.o.ready),
            self.events.rate.eq(self.hold & writer.is_ready),
            self.events.address.eq(writer.client.aw.valid & ~writer.client.aw.ready),
            self.events.stripe_valid.eq(writer.has_place),
            self.events.stripe.eq(number),
            self.idle.eq(~is_left & ~writer.has_place & codec.idle & queue.empty & writer.idle),
        ]
        return m

    def _keep(self, m, stripes, places):
        """Keep the tasks in a memory, which codec and writer read in their order.

        Gives whether one of the two has not begun the last of them, and the number of the writer's
        stripe.
        """
        task = ChannelTask(self.config)
        names = ("address", "words", "raw", "tag")
        shape = data.StructLayout({name: task[name].shape for name in names})
        m.submodules.tasks = memory = Memory(shape=shape, depth=WAITING, init=[])
        write, coded, placed = (
            memory.write_port(),
            memory.read_port(domain="comb"),
            memory.read_port(domain="comb"),
        )
        # The memory of numbers is read for the stripe whose place the writer has taken.
        m.submodules.numbers = numbers = Memory(shape=NUMBER_BITS, depth=WAITING, init=[])
        kept, number = numbers.write_port(), numbers.read_port(domain="comb")
        bits = WAITING.bit_length()
        tail, begun, taken, current = (
            Signal(bits, name=name) for name in ("tail", "begun", "taken", "current")
        )
        is_left = taken != tail
        m.d.comb += [
            write.en.eq(self.push),
            write.addr.eq(tail),
            *(write.data[name].eq(self.task[name]) for name in names),
            kept.en.eq(self.push),
            kept.addr.eq(tail),
            kept.data.eq(self.task.number),
            coded.addr.eq(begun),
            placed.addr.eq(taken),
            number.addr.eq(current),
            stripes.valid.eq(begun != tail),
            *(stripes.payload[name].eq(coded.data[name]) for name in ("words", "raw", "tag")),
            places.valid.eq(is_left),
            *(places.payload[name].eq(placed.data[name]) for name in ("address", "tag")),
        ]
        m.d.sync += [
            tail.eq(tail + self.push),
            begun.eq(begun + (stripes.valid & stripes.ready)),
            # Also of a task that comes in this cycle.
            self.has_room.eq((tail - taken)[:bits] < WAITING - 1),
        ]
        with m.If(places.valid & places.ready):
            m.d.sync += [taken.eq(taken + 1), current.eq(taken)]
        return is_left, number.data
