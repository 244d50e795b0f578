"""What can go wrong between a driver and an engine."""

from cdma.golden.engine.descriptor import Completion, describe


class RegisterError(Exception):
    """The engine refused a register access (SLVERR)."""


class DriverError(Exception):
    """The driver cannot go on: wrong device, no memory left, a ring in ERROR."""


class EngineTimeoutError(DriverError):
    """No completion came in the given time; the descriptor is still the engine's."""


class EngineError(DriverError):
    """A descriptor ended with a status other than OK.

    Attributes
    ----------
    completion : Completion
        What the engine reported.
    """

    def __init__(self, completion: Completion):
        super().__init__(describe(completion))
        self.completion = completion
