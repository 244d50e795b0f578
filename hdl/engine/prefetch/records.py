"""What travels between the parts of a prefetch."""

from amaranth.hdl import Signal, unsigned
from amaranth.lib import data

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import JOB_BITS, OFFSET_BITS, is_job_halted


def stripes_in_work(config: EngineConfig) -> int:
    """Stripes, and ends of jobs, that are in work at a time: slots of the table, a power of two."""
    return 64 * config.channels


class StripeTag(data.StructLayout):
    """A stripe in work: its ``job``, and the ``slot`` in the table of stripes that it has.

    Slots are given in the order of the stripes, and counted modulo twice their number: of two in
    work, the later one is less than half of that ahead.
    """

    def __init__(self, config: EngineConfig):
        slot_bits = stripes_in_work(config).bit_length()
        super().__init__({"job": unsigned(JOB_BITS), "slot": unsigned(slot_bits)})


class StripeHalt(data.StructLayout):
    """Which stripes get no new address; see :class:`~cdma.hdl.engine.common.records.Halt`.

    Members
    -------
    all : all of them
    younger : all of the jobs behind the one with ``age``
    oldest, age : the oldest job in work, and the age of the job that has failed
    above, job, slot : stripes behind that ``slot``, which is of a stripe of ``job``
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "all": unsigned(1),
                "younger": unsigned(1),
                "oldest": unsigned(JOB_BITS),
                "age": unsigned(JOB_BITS),
                "above": unsigned(1),
                **{name: field.shape for name, field in StripeTag(config)},
            }
        )


class StripeError(data.StructLayout):
    """An error of a stripe, as the part reports it that meets it.

    Members
    -------
    tag : :class:`StripeTag`
    status : :class:`~cdma.engine_codes.Status`
    where : address, or offset in the stream; of some parts from the stripe's offset on
    """

    def __init__(self, config: EngineConfig):
        where = max(config.address_bits, OFFSET_BITS)
        super().__init__({"tag": StripeTag(config), "status": unsigned(8), "where": where})


def is_later(m, slot, other, name: str) -> Signal:
    """A stripe in work is behind another one."""
    ahead = Signal(len(slot), name=name)
    m.d.comb += ahead.eq(slot - other)
    return ahead.any() & ~ahead[-1]


def is_stripe_halted(m, halt, tag, name: str):
    """A stripe gets no new address."""
    is_above = halt.above & is_later(m, tag.slot, halt.slot, f"{name}_ahead")
    return is_job_halted(halt, tag.job) | is_above
