"""Work that outgrows one machine: a function over many tasks, on processes or a Dask cluster."""

from cdma.sweep.pools import advance
from cdma.sweep.sweep import Outcome, Task, TaskLostError, sweep

__all__ = ["Outcome", "Task", "TaskLostError", "advance", "sweep"]
