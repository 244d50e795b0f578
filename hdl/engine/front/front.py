"""The front end: registers, two rings, completions, interrupts and counters."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from cdma.engine_codes import Wait
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.lite import LiteSignature, LiteSubordinate
from cdma.hdl.engine.front.counters import Counters
from cdma.hdl.engine.front.interrupts import Interrupts
from cdma.hdl.engine.front.registers import RegisterBlock
from cdma.hdl.engine.front.ring.fetch import RINGS
from cdma.hdl.engine.front.ring.rings import Rings
from cdma.hdl.engine.job import ChannelPort, JobPort, ReadClient, Timeout, WriteClient
from cdma.hdl.engine.registers import ADDRESS_BITS, register_map
from cdma.hdl.lib.signals import any_of

#: Timeout during an abort, when software has switched the timeout off.
ABORT_TIMEOUT = 1 << 20


class FrontEnd(wiring.Component):
    """Everything between software and the data path.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    axi : In, AXI4-Lite port of the registers
    irq : Out, level, a register
    reads, writes : Out, clients of the link, for descriptors and completions
    port0, port1 : Out, jobs of the two directions
    channel0, ... : Out, control of each channel
    timeout : Out, :class:`~cdma.hdl.engine.job.Timeout`
    link_failed : In, level: the link has timed out; only a reset recovers
    """

    axi: wiring.PureInterface
    irq: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, link = config.address_bits, config.link_bytes
        super().__init__(
            {
                "axi": Out(LiteSignature(ADDRESS_BITS)),
                "irq": Out(1),
                "reads": Out(ReadClient(bits, link)),
                "writes": Out(WriteClient(bits, link)),
                **{f"port{ring}": Out(JobPort(bits)) for ring in range(RINGS)},
                **{f"channel{c}": Out(ChannelPort(config)) for c in range(config.channels)},
                "timeout": Out(Timeout()),
                "link_failed": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        map_ = register_map(config)
        m.submodules.lite = lite = LiteSubordinate(ADDRESS_BITS)
        m.submodules.registers = registers = RegisterBlock(map_)
        m.submodules.rings = rings = Rings(config)
        m.submodules.counters = counters = Counters(map_)
        m.submodules.interrupts = interrupts = Interrupts()
        connect(m, flipped(self.axi), lite.axi)
        connect(m, lite.bus, registers.bus)
        connect(m, rings.reads, flipped(self.reads))
        connect(m, rings.writes, flipped(self.writes))
        clear = self._reset(m, registers, rings)
        for number in range(RINGS):
            connect(m, getattr(registers, f"ring{number}"), getattr(rings, f"registers{number}"))
            connect(m, getattr(rings, f"port{number}"), flipped(getattr(self, f"port{number}")))
        m.d.comb += [
            rings.write_data.eq(registers.write_data),
            rings.write_address.eq(registers.write_address),
            rings.clear.eq(clear),
            rings.fatal.eq(self.link_failed),
        ]
        self._channels(m, registers, counters, rings, clear)
        self._counters(m, registers, counters, rings, clear)
        self._interrupts(m, registers, rings, interrupts, clear)
        self._control(m, registers, rings, clear)
        return m

    def _reset(self, m, registers, rings):
        """CTRL.RESET: abort both rings, then clear; gives the cycle of clearing."""
        engine = registers.engine0
        resets, clear = Signal(), Signal()
        is_quiet = Signal()
        m.d.comb += [
            is_quiet.eq(rings.is_stopped),
            engine.ctrl_reset.eq(resets | clear),
            registers.clear.eq(clear),
        ]
        # The rings leave STOPPED in the cycle after the write.
        begins = Signal()
        m.d.sync += [begins.eq(engine.ctrl_reset_pulse), clear.eq(resets & is_quiet & ~begins)]
        with m.If(engine.ctrl_reset_pulse):
            m.d.sync += resets.eq(1)
        with m.Elif(is_quiet & ~begins):
            m.d.sync += resets.eq(0)
        m.d.comb += [rings.reset.eq(engine.ctrl_reset_pulse), rings.resets.eq(resets | clear)]
        return clear

    def _channels(self, m, registers, counters, rings, clear):
        """Registers of the channels; the first error freezes what each of them does."""
        is_frozen = Signal()
        ports = self._channel_ports()
        is_error = any_of(
            [
                *(getattr(self, f"port{number}").failing for number in range(RINGS)),
                *(port.quarantined for port in ports),
                rings.urgent.any(),
            ]
        )
        with m.If(clear):
            m.d.sync += is_frozen.eq(0)
        with m.Elif(is_error):
            m.d.sync += is_frozen.eq(1)
        for channel, port in enumerate(ports):
            regs = getattr(registers, f"channel{channel}")
            most = Signal.like(port.outstanding, name=f"most{channel}")
            with m.If(clear):
                m.d.sync += most.eq(0)
            with m.Elif(port.outstanding > most):
                m.d.sync += most.eq(port.outstanding)
            wait = Signal(Wait, name=f"wait{channel}")
            stripe = Signal(32, name=f"stripe{channel}")
            with m.If(~is_frozen):
                m.d.sync += wait.eq(_wait(port))
                with m.If(port.events.stripe_valid):
                    m.d.sync += stripe.eq(port.events.stripe)
            m.d.comb += [
                port.enable.eq(regs.enable_enable),
                port.clear.eq(regs.quarantine_quarantined_pulse),
                port.rate.eq(regs.rate_bytes),
                port.qos.eq(regs.qos_qos),
                regs.quarantine_quarantined.eq(port.quarantined),
                regs.outstanding_now.eq(port.outstanding),
                regs.outstanding_maximum.eq(most),
                regs.frozen_wait_wait.eq(Mux(is_frozen, wait, 0)),
                regs.frozen_wait_valid.eq(is_frozen),
                regs.frozen_stripe_stripe.eq(Mux(is_frozen, stripe, 0)),
                getattr(counters, f"events{channel}").eq(port.events),
            ]

    def _channel_ports(self):
        return [getattr(self, f"channel{channel}") for channel in range(self.config.channels)]

    def _counters(self, m, registers, counters, rings, clear):
        m.d.comb += [
            counters.error.eq(rings.urgent.any()),
            counters.clear.eq(clear),
            counters.take.eq(registers.engine0.snapshot_take_pulse),
            registers.engine0.snapshot_take.eq(counters.busy),
            counters.address.eq(registers.counter_address),
            counters.read.eq(registers.counter_read),
            registers.counter_done.eq(counters.done),
            registers.counter_data.eq(counters.data),
        ]

    def _interrupts(self, m, registers, rings, interrupts, clear):
        engine = registers.engine0
        ports = self._channel_ports()
        quarantined, had_failed = Signal(len(ports)), Signal()
        found = Cat(port.quarantined for port in ports)
        m.d.sync += [quarantined.eq(found), had_failed.eq(self.link_failed)]
        bits = [name for name in engine.signature.members if _is_status(name)]
        m.d.comb += [
            interrupts.count.eq(engine.irq_coalesce_count),
            interrupts.timer.eq(engine.irq_coalesce_timer),
            interrupts.changes.eq(engine.irq_coalesce_write | clear),
            interrupts.completed.eq(rings.completed),
            interrupts.urgent.eq(rings.urgent),
            interrupts.alarm.eq(rings.alarm),
            interrupts.rearm.eq(rings.rearm),
            interrupts.quarantined.eq((found & ~quarantined).any()),
            interrupts.fatal.eq(self.link_failed & ~had_failed),
            interrupts.clear_bits.eq(Cat(getattr(engine, f"{name}_pulse") for name in bits)),
            interrupts.enable.eq(
                Cat(getattr(engine, name.replace("status", "enable")) for name in bits)
            ),
            interrupts.clear.eq(clear),
            Cat(getattr(engine, name) for name in bits).eq(interrupts.status),
            self.irq.eq(interrupts.irq),
        ]

    def _control(self, m, registers, rings, clear):
        engine = registers.engine0
        ports = self._channel_ports()
        changes = engine.timeout_write | clear
        aborts = self.port0.abort | self.port1.abort
        self._timeout(m, engine.timeout_cycles, changes, aborts)
        m.d.comb += [
            engine.status_busy0.eq(rings.busy[0]),
            engine.status_busy1.eq(rings.busy[1]),
            engine.status_fatal.eq(self.link_failed),
            engine.status_quarantined.eq(Cat(port.quarantined for port in ports)),
        ]

    def _timeout(self, m, cycles, changes, aborts):
        """The limit. It is off while it changes: the new one is there before it is on."""
        timeout, is_off = self.timeout, Signal()
        # A cycle after reset the register still has the limit of before.
        has_changed = Signal(init=1)
        # A limit for aborts alone stays until it is off again.
        is_forced = is_off & (aborts | timeout.on)
        m.d.comb += [
            is_off.eq(cycles == 0),
            timeout.cycles.eq(cycles | Mux(is_forced, ABORT_TIMEOUT, 0)),
        ]
        m.d.sync += [
            has_changed.eq(changes),
            timeout.on.eq(~changes & ~has_changed & (~is_off | aborts)),
        ]


def _is_status(name: str) -> bool:
    """Whether a member is a bit of IRQ_STATUS."""
    is_other = name.endswith(("_pulse", "_write"))
    return name.startswith("irq_status_") and not is_other


def _wait(port):
    """What a channel waits for, as a code."""
    events, code = port.events, Wait.IDLE
    reasons = (("link", Wait.LINK), ("turn", Wait.TURN), ("address", Wait.ADDRESS))
    reasons += (("rate", Wait.RATE), ("credit", Wait.CREDIT))
    code = Mux(port.outstanding != 0, Wait.DATA, Wait.IDLE)
    for name, reason in reasons:
        code = Mux(getattr(events, name), reason, code)
    return code
