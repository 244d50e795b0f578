"""Beats and plans on their way from the survey to the order: each passes all parts once."""

from amaranth.hdl import Assert, Cover, Module, Signal, Value

from cdma.hdl.zvcplus.compressor.coder import parts_of
from cdma.hdl.zvcplus.compressor.repeats import RepeatCoder
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer


class AnyRepeats(RepeatCoder):
    """Gives any bits of repeats, at any time."""

    def elaborate(self, platform):
        m = Module()
        offer(m, self.o, "repeats")
        return m


def names_of(config) -> tuple[str, ...]:
    """Classes of the parts that :func:`follow_plans` looks at."""
    survey, planner, _ = parts_of(config)
    names = (survey.__name__, planner.__name__, "PayloadCounter", "StreamOrder")
    return (*names, "RepeatCoder") if config.has_repeats else names


def follow_plans(m, config, parts, enters, moves) -> Value:
    """Beats are surveyed as they enter, and no block's statistics are lost or planned twice. A plan
    goes once to the order and to the coder of repeats. An item takes the plan and the payload that
    are there, each once.

    Registers of the component ``dut`` are looked at by name, for the induction.

    Parameters
    ----------
    config : Config
        Element type.
    parts : dict
        Parts of the component, by the names of their classes.
    enters, moves : Value
        A beat comes in; an item is taken, if there is one.

    Returns
    -------
    Whether a payload is taken.
    """
    survey, planner, counter, order = (parts[name] for name in names_of(config)[:4])
    plans, leaves, sends = (each.valid & each.ready for each in (planner.i, planner.o, counter.o))
    issues, is_issued = moves & order.has_control, Signal(name="is_issued")
    m.d.sync += is_issued.eq((is_issued | issues) & ~leaves)
    m.d.comb += [
        Assert(survey.valid == enters),
        Assert(~enters | survey.enable),
        Assert(plans == (survey.o_valid & survey.enable)),
        Cover(survey.o_valid & ~survey.enable),
        # Each plan is issued once, and a payload leaves with its item.
        Assert(~issues | (planner.o.valid & ~is_issued)),
        Assert(~leaves | is_issued | issues),
        Assert(sends == (order.has_payload & moves)),
        Cover(sends & issues & order.is_after),
        # Invariants: what is known of the plan at hand.
        Assert(probe(m, "dut.order.is_issued", 1) == is_issued),
        Assert(planner.o.valid | ~is_issued),
    ]
    if config.has_repeats:
        repeats, is_given = parts["RepeatCoder"], Signal(name="is_given")
        m.d.sync += is_given.eq((is_given | repeats.valid) & ~leaves)
        m.d.comb += [
            # Its repeats are coded once.
            Assert(~repeats.valid | (planner.o.valid & ~is_given)),
            Assert(~leaves | is_given | repeats.valid),
            Assert(~(moves & order.has_repeats) | (repeats.o.valid & order.has_payload)),
            Assert(~(repeats.o.valid & repeats.o.ready) | sends),
            Assert(probe(m, "dut.is_coded", 1) == is_given),
            Assert(planner.o.valid | ~is_given),
        ]
    return sends
