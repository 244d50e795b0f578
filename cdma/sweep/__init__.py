"""Run a function on many tasks, on processes of this machine or on a Dask cluster."""

from cdma.sweep.packed import Packed
from cdma.sweep.pools import advance
from cdma.sweep.sweep import Outcome, Task, TaskLostError, in_order, sweep

__all__ = ["Outcome", "Packed", "Task", "TaskLostError", "advance", "in_order", "sweep"]
