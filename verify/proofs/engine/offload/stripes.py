"""Beats of stripes, as a reader gives them to the compressor of a channel."""

from amaranth.hdl import Assert, Assume, Module, Mux, Signal

from cdma.engine_config import EngineConfig
from cdma.verify.formal.stream_rules import offer


def offer_stripes(m: Module, port, config: EngineConfig) -> tuple[Signal, Signal, Signal]:
    """Drive a stream of beats: stripes of any words, each raw or not from its first beat on.

    Returns a signal that is high as a beat is taken, the number of the beat in its stripe, and
    whether the stripe of the beat before is raw.
    """
    beat = port.payload
    enters = offer(m, port, "beat")
    number, is_raw = Signal(range(config.stripe_beats + 1), name="number"), Signal(name="was_raw")
    m.d.comb += [
        Assume((beat.count != 0) & (beat.count <= config.lanes)),
        Assume(beat.last | (beat.count == config.lanes)),
        Assume(beat.last | (number != config.stripe_beats - 1)),
        Assume((number == 0) | (beat.raw == is_raw)),
        Assert(number < config.stripe_beats),
    ]
    with m.If(enters):
        m.d.sync += [number.eq(Mux(beat.last, 0, number + 1)), is_raw.eq(beat.raw)]
    return enters, number, is_raw
