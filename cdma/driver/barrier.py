"""Memory barriers: order between memory shared with the engine and its registers."""

import platform
from collections.abc import Callable

from cdma.driver.errors import DriverError

#: Processors that keep loads in order, and stores in order, to memory and to registers.
_ORDERED = frozenset({"x86_64", "amd64", "x86", "i386", "i486", "i586", "i686"})


def choose(barrier: Callable[[], object] | None, accessor) -> Callable[[], object]:
    """The barrier that a driver calls.

    There is no default for processors that reorder. A fence between threads, such as
    ``atomic_thread_fence``, does not order registers: RISC-V's does not cover I/O, and Arm's only
    covers the inner shareable domain.

    Parameters
    ----------
    barrier : callable or None
        The caller's barrier.
    accessor : Accessor
        With a true attribute ``is_mapped``, its registers are mapped registers of hardware.

    Raises
    ------
    DriverError
        When the registers are mapped, the processor may reorder, and there is no barrier.
    """
    if barrier is not None:
        return barrier
    machine = platform.machine()
    if getattr(accessor, "is_mapped", False) and machine.lower() not in _ORDERED:
        raise DriverError(
            f"this processor ({machine or 'unknown'}) may reorder accesses to memory and to "
            "registers: give the driver a barrier"
        )
    return _nothing


def _nothing() -> None:
    """No barrier."""
