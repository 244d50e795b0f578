"""What is kept of a descriptor from its start to its completion."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.front.records import Completion

#: Bits that count the descriptors of a ring that were started and have not completed.
FLIGHT_BITS = 6


class Started(data.StructLayout):
    """A descriptor that was started, until its completion.

    Members
    -------
    is_local : the front end itself finishes the descriptor, with ``status``
    status : :class:`~cdma.engine_codes.Status`; of jobs the data path's counts
    is_untrusted : the cookie does not count
    cookie, interrupt, append : as in the descriptor
    address : of the descriptor when it is refused
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "is_local": unsigned(1),
                "status": unsigned(8),
                "is_untrusted": unsigned(1),
                "cookie": unsigned(64),
                "interrupt": unsigned(1),
                "append": unsigned(1),
                "address": unsigned(address_bits),
            }
        )


class Ended(data.StructLayout):
    """A completion on its way to host memory.

    Members
    -------
    completion : the 32 bytes
    address : where they go
    attr : attributes of that write
    interrupt : the descriptor asked for one
    ring : of the descriptor
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "completion": Completion(),
                "address": unsigned(address_bits),
                "attr": Attributes(),
                "interrupt": unsigned(1),
                "ring": unsigned(1),
            }
        )
