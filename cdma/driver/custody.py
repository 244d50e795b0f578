"""Buffers of jobs: who frees them, and when the engine may still use them."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdma.driver.memory import Buffer, Memory
from cdma.driver.ring import Ring, Ticket
from cdma.engine_codes import Status


class Custody:
    """Frees the buffers of jobs, but none that the engine may still use.

    Parameters
    ----------
    rings : list of Ring
        The rings of the engine. More may be appended later.
    """

    def __init__(self, rings: list[Ring]):
        self._rings = rings
        #: Buffers of jobs that ended while a channel had outstanding responses.
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
        if ticket.is_abandoned and ticket.completion.status == Status.TIMEOUT:
            self.held += ticket.buffers
        elif ticket.is_abandoned:
            self.free(ticket.buffers)

    def free_held(self) -> None:
        """Free the held buffers: the engine has nothing outstanding."""
        held, self.held = self.held, []
        self.free(held)

    @staticmethod
    def free(buffers: list[Buffer]) -> None:
        """Free buffers, whatever the engine does."""
        for buffer in buffers:
            buffer.memory.release(buffer)
