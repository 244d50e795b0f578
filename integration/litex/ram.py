"""A memory with two users: the engine through AXI4, the processor through Wishbone."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.axi import AXIInterface
from migen import FSM, NO_CHANGE, If, Memory, NextState, NextValue, Replicate, Signal

OKAY, SLVERR = 0, 2
#: Beats between the memory and R. With fewer than three, reads do not reach one beat per cycle.
READ_FIFO = 8


class AxiRam(LiteXModule):
    """On-chip memory with one port, which maps to single-port block RAM.

    One AXI burst runs at a time, at one beat per cycle; reads and writes alternate when both wait.
    An access of the processor takes one cycle from a burst. B follows the last write, so the
    processor sees the data when the engine sees B. An address outside the memory gets SLVERR.

    Parameters
    ----------
    data_bits : int
        Width of both ports.
    origin, size : int
        First byte address and bytes, powers of two; ``origin`` is a multiple of ``size``.
    id_bits : int
        Width of the IDs.
    """

    def __init__(self, data_bits: int, origin: int, size: int, id_bits: int):
        self.axi = axi = AXIInterface(data_width=data_bits, address_width=32, id_width=id_bits)
        self.bus = bus = wishbone.Interface(
            data_width=data_bits, address_width=32, addressing="word"
        )
        lane_bits = (data_bits // 8 - 1).bit_length()
        size_bits = (size - 1).bit_length()
        memory = Memory(data_bits, size >> lane_bits)
        port = memory.get_port(write_capable=True, we_granularity=8, mode=NO_CHANGE)
        self.specials += memory, port

        is_bus = Signal()
        is_write = Signal()
        is_outside = Signal()
        word = Signal(size_bits - lane_bits)
        self.comb += [
            is_bus.eq(bus.cyc & bus.stb & ~bus.ack),
            bus.dat_r.eq(port.dat_r),
            If(is_bus,
                port.adr.eq(bus.adr),
                port.dat_w.eq(bus.dat_w),
                port.we.eq(Replicate(bus.we, data_bits // 8) & bus.sel),
            ).Else(
                port.adr.eq(word),
                port.dat_w.eq(axi.w.data),
                port.we.eq(Replicate(is_write & ~is_outside, data_bits // 8) & axi.w.strb),
            ),
        ]  # fmt: skip
        self.sync += bus.ack.eq(is_bus)

        beats = Signal(8)  # of the burst, after this one
        identifier = Signal(id_bits)
        was_read = Signal()
        is_read = Signal()
        fifo = stream.SyncFIFO([("data", data_bits), ("resp", 2), ("id", id_bits)], READ_FIFO)
        self.submodules += fifo
        is_read_1, last_1 = Signal(), Signal()
        self.sync += [is_read_1.eq(is_read), last_1.eq(beats == 0)]
        self.comb += [
            fifo.sink.valid.eq(is_read_1),
            fifo.sink.data.eq(port.dat_r),
            fifo.sink.last.eq(last_1),
            fifo.sink.id.eq(identifier),
            fifo.sink.resp.eq(_response(is_outside)),
            axi.r.valid.eq(fifo.source.valid),
            axi.r.data.eq(fifo.source.data),
            axi.r.last.eq(fifo.source.last),
            axi.r.id.eq(fifo.source.id),
            axi.r.resp.eq(fifo.source.resp),
            fifo.source.ready.eq(axi.r.ready),
            axi.b.id.eq(identifier),
            axi.b.resp.eq(_response(is_outside)),
        ]

        def start(channel, state):
            return [
                channel.ready.eq(1),
                NextValue(word, channel.addr[lane_bits:size_bits]),
                NextValue(is_outside, channel.addr[size_bits:] != origin >> size_bits),
                NextValue(beats, channel.len),
                NextValue(identifier, channel.id),
                NextState(state),
            ]

        step = [NextValue(word, word + 1), NextValue(beats, beats - 1)]
        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act("IDLE",
            # The last beat of a read takes ID and response of its burst one cycle later.
            If(~is_read_1,
                If(axi.ar.valid & ~(axi.aw.valid & was_read),
                    NextValue(was_read, 1),
                    *start(axi.ar, "READ"),
                ).Elif(axi.aw.valid,
                    NextValue(was_read, 0),
                    *start(axi.aw, "WRITE"),
                )
            )
        )  # fmt: skip
        fsm.act("READ",
            # One beat may be on its way from the memory to the FIFO.
            is_read.eq(~is_bus & (fifo.level < READ_FIFO - 1)),
            If(is_read, *step, If(beats == 0, NextState("IDLE"))),
        )  # fmt: skip
        fsm.act("WRITE",
            axi.w.ready.eq(~is_bus),
            is_write.eq(axi.w.valid & axi.w.ready),
            If(is_write, *step, If(axi.w.last, NextState("RESPOND"))),
        )  # fmt: skip
        fsm.act("RESPOND",
            axi.b.valid.eq(1),
            If(axi.b.ready, NextState("IDLE")),
        )  # fmt: skip


def _response(is_outside):
    """OKAY or SLVERR as a value of two bits."""
    assert (OKAY, SLVERR) == (0, 2)
    return is_outside << 1
