"""Errors of the driver."""

from cdma.golden.engine.descriptor import Completion, describe

#: What only a reset of the hardware ends.
LINK_FAILED = "the link has failed: only a reset of the hardware recovers"


class DriverError(Exception):
    """The driver cannot continue: wrong device, out of memory, or a ring in ERROR."""


class RegisterError(DriverError):
    """The engine refused a register access (SLVERR)."""


class EngineTimeoutError(DriverError):
    """No completion within the timeout. The engine still owns the descriptor and its buffers."""


class EngineStoppedError(EngineTimeoutError):
    """The ring is HALTED or in ERROR, or the link has failed: no completion follows."""


class EngineError(DriverError):
    """A descriptor ended with a status other than OK.

    Attributes
    ----------
    completion : Completion
        Completion of the descriptor.
    """

    def __init__(self, completion: Completion):
        super().__init__(describe(completion))
        self.completion = completion
