"""Shares the link's reads of descriptors between the rings."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.job import ReadClient


class ReadShare(wiring.Component):
    """Two clients of one read ID, which answers in the order of the addresses.

    No cycle is added: addresses and data pass combinationally. The ring that did not ask last goes
    first.

    Parameters
    ----------
    address_bits, link_bytes : int
        Widths.
    depth : int
        Reads that can be outstanding, at least what both clients together ask for.

    Members
    -------
    ring0, ring1 : In, clients
    link : Out
    """

    def __init__(self, address_bits: int, link_bytes: int, depth: int):
        self.depth = depth
        client = ReadClient(address_bits, link_bytes)
        super().__init__({"ring0": In(client), "ring1": In(client), "link": Out(client)})

    def elaborate(self, platform):
        m = Module()
        link, clients = self.link, (self.ring0, self.ring1)
        owners, level = Signal(self.depth), Signal(range(self.depth + 1))  # bit 0 is the oldest
        last, chosen, is_held = Signal(), Signal(), Signal()
        wish = Signal()
        # An address that waits is not replaced.
        m.d.comb += [
            wish.eq(clients[1].ar.valid & (~clients[0].ar.valid | ~last)),
            chosen.eq(wish),
        ]
        with m.If(is_held):
            m.d.comb += chosen.eq(last)
        m.d.sync += is_held.eq(link.ar.valid & ~link.ar.ready)
        with m.If(link.ar.valid):
            m.d.sync += last.eq(chosen)
        m.d.comb += [
            link.ar.valid.eq(clients[0].ar.valid | clients[1].ar.valid),
            link.ar.payload.eq(clients[0].ar.payload),
            clients[0].ar.ready.eq(link.ar.ready & ~chosen),
            clients[1].ar.ready.eq(link.ar.ready & chosen),
            link.r.ready.eq(1),
        ]
        with m.If(chosen):
            m.d.comb += link.ar.payload.eq(clients[1].ar.payload)
        for number, client in enumerate(clients):
            m.d.comb += [
                client.r.valid.eq(link.r.valid & (owners[0] == number)),
                client.r.payload.eq(link.r.payload),
            ]
        asks, ends = Signal(), Signal()
        m.d.comb += [
            asks.eq(link.ar.valid & link.ar.ready),
            ends.eq(link.r.valid & link.r.payload.last),
        ]
        place, left = Signal(range(self.depth + 1)), Signal(self.depth)
        m.d.comb += [place.eq(level - ends), left.eq(owners >> ends)]
        m.d.sync += level.eq(level + asks - ends)
        for bit in range(self.depth):
            is_new = asks & (place == bit)
            m.d.sync += owners[bit].eq((left[bit] & ~is_new) | (is_new & chosen))
        return m
