"""What travels between the parts of the data path."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from cdma.engine_config import EngineConfig

NUMBER_BITS = 32  # of a stripe's number in its job
#: Bits of a job's number: so many jobs of a direction, 2**JOB_BITS, are in work at a time.
JOB_BITS = 4
#: Bits of an offset in a stream: 2**32 stripes of at most 64 KiB with their masks.
OFFSET_BITS = 49


class Stripe(data.StructLayout):
    """A stripe in device memory.

    Members
    -------
    address : of its first byte
    bytes : whole words, at most a stripe
    job, number : the job's number, and the stripe's in the job, from 0
    raw : the stripe is not compressed
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "address": unsigned(config.address_bits),
                "bytes": unsigned(config.stripe_bytes.bit_length()),
                "job": unsigned(JOB_BITS),
                "number": unsigned(NUMBER_BITS),
                "raw": unsigned(1),
            }
        )


class Row(data.StructLayout):
    """Words of one stripe: a beat of it, raw or coded.

    Members
    -------
    words : array of ``lanes`` words; those from ``count`` on are zero
    count : words that count, 1 to ``lanes``; all before the last row
    last : the stripe ends with this row
    missing : where ``config.has_padding``: bytes of the last row's last word that do not count
    """

    def __init__(self, config: EngineConfig):
        padding = {"missing": unsigned(config.word_bytes.bit_length() - 1)}
        super().__init__(
            {
                "words": data.ArrayLayout(config.word_bits, config.lanes),
                "count": unsigned(config.lanes.bit_length()),
                "last": unsigned(1),
                **(padding if config.has_padding else {}),
            }
        )


class Tag(data.StructLayout):
    """Where something belongs: its ``job``, a stripe's ``number`` and ``offset`` in the stream."""

    def __init__(self):
        super().__init__(
            {
                "job": unsigned(JOB_BITS),
                "number": unsigned(NUMBER_BITS),
                "offset": unsigned(OFFSET_BITS),
            }
        )


class ErrorReport(data.StructLayout):
    """An error of one stripe.

    Members
    -------
    tag : :class:`Tag` of the stripe
    status : :class:`~cdma.engine_codes.Status`
    where : address, or offset in the stream
    channel : of the device, or ``LINK``
    halts : stripes above this one get no new address
    """

    def __init__(self):
        super().__init__(
            {
                "tag": Tag(),
                "status": unsigned(8),
                "where": unsigned(64),
                "channel": unsigned(7),
                "halts": unsigned(1),
            }
        )


class Halt(data.StructLayout):
    """Which work gets no new address.

    Numbers of jobs wrap, so jobs are compared by their age: how many jobs behind the oldest one.

    Members
    -------
    all : all of it
    younger : all of the jobs behind the one with ``age``
    oldest, age : the oldest job in work, and the age of the job that has failed
    above, job, number : in ``job``, the stripes above ``number``
    """

    def __init__(self):
        super().__init__(
            {
                "all": unsigned(1),
                "younger": unsigned(1),
                "oldest": unsigned(JOB_BITS),
                "age": unsigned(JOB_BITS),
                "above": unsigned(1),
                "job": unsigned(JOB_BITS),
                "number": unsigned(NUMBER_BITS),
            }
        )


def is_job_halted(halt, job):
    """Nothing of a job gets a new address."""
    age = (job - halt.oldest)[:JOB_BITS]
    return halt.all | (halt.younger & (age > halt.age))


def is_job_stopped(halt, job):
    """A job gives no further stripe."""
    return is_job_halted(halt, job) | (halt.above & (job == halt.job))


def is_halted(halt, job, number):
    """A stripe of that number gets no new address."""
    return is_job_halted(halt, job) | (halt.above & (job == halt.job) & (number > halt.number))
