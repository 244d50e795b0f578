"""What passes between the front end and the data path."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes, Response


class Job(data.StructLayout):
    """A validated descriptor on its way to the data path.

    Members
    -------
    op : :class:`~cdma.engine_codes.Op`, never NOP
    index : an index is written (offload) or read (prefetch)
    crc : CRC-32 of each stripe is written or checked
    raw : :class:`~cdma.engine_codes.Raw`
    rows : 1 or more
    stripes : whole stripes of all rows; a single row may have a partial one, which is not counted
    device, host, index_address : byte addresses; APPEND is resolved
    row_bytes : bytes per row, 1 or more
    limit : capacity of the host buffer (offload), bytes of the stream (prefetch)
    pitch : bytes from the start of a row to that of the next
    attr : attributes of all addresses of the job
    """

    def __init__(self, address_bits: int):
        # A tensor ends at 2**address_bits, and so does a buffer: the checks of a descriptor see to
        # that. What a job does not use may be cut off here.
        size_bits = min(address_bits + 1, 64)
        super().__init__(
            {
                "op": unsigned(4),
                "index": unsigned(1),
                "crc": unsigned(1),
                "raw": unsigned(2),
                "rows": unsigned(32),
                "stripes": unsigned(32),
                "device": unsigned(address_bits),
                "host": unsigned(address_bits),
                "index_address": unsigned(address_bits),
                "row_bytes": unsigned(size_bits),
                "limit": unsigned(size_bits),
                "pitch": signed(size_bits),
                "attr": Attributes(),
            }
        )


class Done(data.StructLayout):
    """Result of a job, sent after the last B of its data and index.

    Members
    -------
    status : :class:`~cdma.engine_codes.Status`
    stream_bytes : bytes of the stream; on OVERFLOW those that were needed
    where : on an error its address or stream offset, else 0
    raw_stripes : stripes that are raw
    cycles : from when the job was taken to its end
    stripe : on an error the stripe, else the number of stripes
    channel : channel of the error, or ``cdma.engine_codes.LINK``
    """

    def __init__(self):
        super().__init__(
            {
                "status": unsigned(8),
                "stream_bytes": unsigned(64),
                "where": unsigned(64),
                "raw_stripes": unsigned(32),
                "cycles": unsigned(32),
                "stripe": unsigned(32),
                "channel": unsigned(7),
            }
        )


#: Of :class:`Events`, those that both directions of a channel can have in one cycle.
BEATS = ("raw_beats", "stream_beats")


class Events(data.StructLayout):
    """What happened in a channel in one cycle, for counters.

    Members
    -------
    raw_beats, stream_beats : beats that passed, before and after compression: one a direction
    credit, rate, address, turn, link : cycle in which the reader or writer waited for this
    latency_valid, latency : a sample: cycles from an address to its first data
    stripe_valid, stripe : number in its job of the stripe that is in work; no event to count
    """

    def __init__(self):
        super().__init__(
            {
                **dict.fromkeys(BEATS, unsigned(2)),
                "credit": unsigned(1),
                "rate": unsigned(1),
                "address": unsigned(1),
                "turn": unsigned(1),
                "link": unsigned(1),
                "latency_valid": unsigned(1),
                "latency": unsigned(16),
                "stripe_valid": unsigned(1),
                "stripe": unsigned(32),
            }
        )


class JobPort(wiring.Signature):
    """Jobs of one direction, as the front end sees it.

    Members
    -------
    job : Out stream of :class:`Job`; one that is offered and not taken may be taken back, and
        ``ready`` does not wait for ``valid``
    done : In stream of :class:`Done`, in the order of the jobs
    abort : Out, level: no new address; started jobs end with ABORTED at zero outstanding. A job
        that is offered during an abort is not taken.
    busy : In, a job was started or something is outstanding
    failing : In, the job in work met an error
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "job": Out(stream.Signature(Job(address_bits))),
                "done": In(stream.Signature(Done())),
                "abort": Out(1),
                "busy": In(1),
                "failing": In(1),
            }
        )


class ChannelPort(wiring.Signature):
    """Control and state of one channel, as the front end sees it.

    Members
    -------
    enable : Out, the channel may be used
    clear : Out, pulse: leave quarantine; ignored while something is outstanding
    rate : Out, bytes per 1,024 cycles, 0 is unlimited
    qos : Out, AxQOS
    quarantined : In
    outstanding : In, bursts that are issued and not answered
    events : In, :class:`Events`

    Parameters
    ----------
    config : EngineConfig
    """

    def __init__(self, config: EngineConfig):
        most = config.channel_reads + 1 + config.channel_writes
        super().__init__(
            {
                "enable": Out(1),
                "clear": Out(1),
                "rate": Out(32),
                "qos": Out(4),
                "quarantined": In(1),
                "outstanding": In(range(most + 1)),
                "events": In(Events()),
            }
        )


class Timeout(data.StructLayout):
    """Limit of all ports.

    Members
    -------
    cycles : without a handshake on a port that owes one; 1 or more
    on : ports are watched. ``cycles`` does not change while it is 1: for a new limit it falls for a
        cycle at least, and all counts begin anew
    """

    def __init__(self):
        super().__init__({"cycles": unsigned(32), "on": unsigned(1)})


class Request(data.StructLayout):
    """A burst that a client of the link asks for.

    Members
    -------
    address : byte address, whole beats except for narrow ends that strobes cut
    beats : 1 to 256
    attr : :class:`~cdma.hdl.axi.full.Attributes`
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {"address": unsigned(address_bits), "beats": unsigned(9), "attr": Attributes()}
        )


class LinkData(data.StructLayout):
    """A beat read from the link: ``data``, ``resp``, ``last`` of its burst."""

    def __init__(self, link_bytes: int):
        super().__init__({"data": unsigned(8 * link_bytes), "resp": Response, "last": unsigned(1)})


class LinkWrite(data.StructLayout):
    """A beat written to the link: ``data``, ``strobe`` per byte, ``last`` of its burst."""

    def __init__(self, link_bytes: int):
        super().__init__(
            {
                "data": unsigned(8 * link_bytes),
                "strobe": unsigned(link_bytes),
                "last": unsigned(1),
            }
        )


class ReadClient(wiring.Signature):
    """Reads of one ID on the link, as the client sees it.

    Room for all of a burst is reserved before it is asked for: ``r`` is always ready.

    Members
    -------
    ar : Out stream of :class:`Request`
    r : In stream of :class:`LinkData`
    """

    def __init__(self, address_bits: int, link_bytes: int):
        super().__init__(
            {
                "ar": Out(stream.Signature(Request(address_bits))),
                "r": In(stream.Signature(LinkData(link_bytes))),
            }
        )


class WriteClient(wiring.Signature):
    """Writes of one ID on the link, as the client sees it.

    A burst is asked for when all of its beats are at hand: ``w`` is valid without a gap from the
    cycle after ``aw`` on. ``b`` is always ready.

    Members
    -------
    aw : Out stream of :class:`Request`
    w : Out stream of :class:`LinkWrite`
    b : In stream of :class:`~cdma.hdl.axi.full.Response`
    """

    def __init__(self, address_bits: int, link_bytes: int):
        super().__init__(
            {
                "aw": Out(stream.Signature(Request(address_bits))),
                "w": Out(stream.Signature(LinkWrite(link_bytes))),
                "b": In(stream.Signature(Response)),
            }
        )
