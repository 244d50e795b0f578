"""AXI4 managers (Arm IHI 0022): the five channels as streams, and the names of their wires."""

from amaranth.hdl import Const, unsigned
from amaranth.lib import data, enum, stream
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.signature import SizedSignature
from cdma.integers import integer

USER_BITS = 8  # of AxUSER
BURST_INCR = 1


class Response(enum.Enum, shape=2):
    """RRESP and BRESP."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class Attributes(data.StructLayout):
    """Attributes of an address: AxUSER, AxPROT and AxCACHE."""

    def __init__(self):
        super().__init__({"user": unsigned(USER_BITS), "prot": unsigned(3), "cache": unsigned(4)})


class Address(data.StructLayout):
    """A burst on the channels AR and AW.

    Members
    -------
    id : AxID
    address : byte address of the first beat
    length : AxLEN, beats less one
    qos : AxQOS
    attr : :class:`Attributes`
    """

    def __init__(self, address_bits: int, id_bits: int):
        super().__init__(
            {
                "id": unsigned(id_bits),
                "address": unsigned(address_bits),
                "length": unsigned(8),
                "qos": unsigned(4),
                "attr": Attributes(),
            }
        )


class WriteBeat(data.StructLayout):
    """A beat on the channel W: ``data``, a ``strobe`` bit per byte, ``last``."""

    def __init__(self, data_bytes: int):
        super().__init__(
            {
                "data": unsigned(8 * data_bytes),
                "strobe": unsigned(data_bytes),
                "last": unsigned(1),
            }
        )


class WriteResponse(data.StructLayout):
    """A response on the channel B: ``id`` and ``resp``."""

    def __init__(self, id_bits: int):
        super().__init__({"id": unsigned(id_bits), "resp": Response})


class ReadBeat(data.StructLayout):
    """A beat on the channel R: ``id``, ``data``, ``resp`` and ``last``."""

    def __init__(self, data_bytes: int, id_bits: int):
        super().__init__(
            {
                "id": unsigned(id_bits),
                "data": unsigned(8 * data_bytes),
                "resp": Response,
                "last": unsigned(1),
            }
        )


class Manager(SizedSignature):
    """AXI4 port of a manager, each channel a stream.

    Bursts are INCR of full AxSIZE without lock, so these are no members: :func:`wires` adds them.

    Parameters
    ----------
    address_bits, data_bytes, id_bits : int
        Widths: 1 to 64, a power of two from 1 to 128, and 0 to 32.

    Members
    -------
    aw, ar : Out streams of :class:`Address`
    w : Out stream of :class:`WriteBeat`
    b : In stream of :class:`WriteResponse`
    r : In stream of :class:`ReadBeat`
    """

    def __init__(self, address_bits: int, data_bytes: int, id_bits: int):
        if data_bytes not in (1, 2, 4, 8, 16, 32, 64, 128):
            raise ValueError(
                f"Bytes of an AXI beat must be a power of two in 1..128, not {data_bytes!r}"
            )
        for what, bits, least, most in (
            ("address", address_bits, 1, 64),
            ("identifier", id_bits, 0, 32),
        ):
            if not least <= integer(f"Number of {what} bits", bits) <= most:
                raise ValueError(f"Number of {what} bits must lie in {least}..{most}, not {bits}")
        self.address_bits = address_bits
        self.data_bytes = data_bytes
        self.id_bits = id_bits
        super().__init__(
            {
                "aw": Out(stream.Signature(Address(address_bits, id_bits))),
                "w": Out(stream.Signature(WriteBeat(data_bytes))),
                "b": In(stream.Signature(WriteResponse(id_bits))),
                "ar": Out(stream.Signature(Address(address_bits, id_bits))),
                "r": In(stream.Signature(ReadBeat(data_bytes, id_bits))),
            }
        )


def wires(port) -> list[tuple]:
    """Suffix, value and flow of each wire of a :class:`Manager`'s port, in the order of AXI.

    Returns
    -------
    list of (str, Value, Flow)
        ``Out`` is driven by the manager, ``In`` by the interconnect. Constant outputs are constant
        values.
    """
    size = Const(port.signature.data_bytes.bit_length() - 1, 3)
    found = []
    for channel in ("aw", "w", "b", "ar", "r"):
        member = getattr(port, channel)
        forward = Out if channel in ("aw", "w", "ar") else In
        payload = member.payload
        if channel in ("aw", "ar"):
            fields = {
                "id": payload.id,
                "addr": payload.address,
                "len": payload.length,
                "size": size,
                "burst": Const(BURST_INCR, 2),
                "lock": Const(0, 1),
                "cache": payload.attr.cache,
                "prot": payload.attr.prot,
                "qos": payload.qos,
                "user": payload.attr.user,
            }
        elif channel == "w":
            fields = {"data": payload.data, "strb": payload.strobe, "last": payload.last}
        elif channel == "b":
            fields = {"id": payload.id, "resp": payload.resp.as_value()}
        else:
            fields = {
                "id": payload.id,
                "data": payload.data,
                "resp": payload.resp.as_value(),
                "last": payload.last,
            }
        found += [(f"{channel}{name}", value, forward) for name, value in fields.items()]
        found.append((f"{channel}valid", member.valid, forward))
        found.append((f"{channel}ready", member.ready, In if forward is Out else Out))
    return found
