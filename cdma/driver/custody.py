"""Buffers of jobs: who frees them, and when the engine may still use them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cdma.driver.memory import Buffer, Memory
from cdma.driver.ring import Ring, Ticket
from cdma.golden.engine.descriptor import Completion


class Custody:
    """Frees the buffers of jobs, but none that the engine may still use.

    Parameters
    ----------
    rings : list of Ring
        The rings of the engine. More may be appended later.
    is_quiet : callable
        Returns whether the engine has nothing outstanding in channels that timed out.
    """

    def __init__(self, rings: list[Ring], is_quiet: Callable[[], bool]):
        self._rings, self._is_quiet = rings, is_quiet
        #: Buffers of jobs that failed while a channel had outstanding responses.
        self.held: list[Buffer] = []

    @contextmanager
    def allocate(self, memory: Memory, *sizes: int, alignment: int = 64) -> Iterator[list[Buffer]]:
        """New buffers for the caller. After an exception, frees those the engine does not use."""
        buffers = []
        try:
            for size in sizes:
                buffers.append(memory.allocate(size, alignment))
            yield buffers
        except BaseException:
            self.free_unused(buffers)
            raise

    @contextmanager
    def temporary(self, memory: Memory, size: int, alignment: int) -> Iterator[Buffer]:
        """A buffer for the body only. Frees it at the end if the engine does not use it."""
        with self.allocate(memory, size, alignment=alignment) as (buffer,):
            yield buffer
        self.free_unused([buffer])

    def free_unused(self, buffers: list[Buffer]) -> None:
        """Free the buffers that the engine cannot use any more."""
        used = list(self.held)
        for ring in self._rings:
            for ticket in ring.waiting:
                used += ticket.buffers
        self.free([buffer for buffer in buffers if buffer not in used])

    def end(self, ticket: Ticket) -> None:
        """A descriptor has a completion: nobody else frees the buffers of an abandoned one."""
        if ticket.is_abandoned:
            self.settle(ticket.completion, ticket.buffers)

    def settle(self, completion: Completion | None, buffers: list[Buffer]) -> None:
        """Free the buffers of a job, or hold them. ``None``: its completion was lost.

        A channel in quarantine may still access the buffers of any job that has failed: also of one
        that was aborted, and of one that reports another error in a lower stripe.
        """
        if (completion is None or not completion.is_ok) and not self._is_quiet():
            self.held += buffers
        else:
            self.free(buffers)

    def free_held(self) -> None:
        """Free the held buffers, if the engine has nothing outstanding."""
        if self.held and self._is_quiet():
            self.free_all_held()

    def free_all_held(self) -> None:
        """Free the held buffers, whatever the engine does."""
        held, self.held = self.held, []
        self.free(held)

    @staticmethod
    def free(buffers: list[Buffer]) -> None:
        """Free buffers, whatever the engine does."""
        for buffer in buffers:
            buffer.memory.release(buffer)
