"""Simulate a unit on a tensor, and compare the output with the golden model."""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing
from cdma.format import StreamFormat
from cdma.golden.codecs import codec_of
from cdma.golden.zvc.fold import check_fold
from cdma.hdl.codecs import UnitConfig
from cdma.sim.report import record
from cdma.sim.simulate import cosim
from cdma.sim.typed import Typed


def packet_for(
    unit: str, words: np.ndarray, fmt: StreamFormat
) -> np.ndarray | tuple[np.ndarray, int | None]:
    """Input packet of a unit for ``words``, shape (words,). Compressed for the decompressor, with
    the number of words unless the stream ends itself."""
    if unit != "decompressor":
        return words
    return codec_of(fmt).compress(words, fmt), None if fmt.ends_itself else words.size


def _part(config, type_):
    """Configuration of a unit of the tensor's type, and the number of the type."""
    for number, part in config.parts.items():
        if part.type == type_:
            return part, number
    if config.parts:
        types = ", ".join(part.type for part in config.parts.values())
        raise UserError(f"Type of the tensor must be one of {types}, not {type_}")
    return config, None


def simulate(
    tensor: np.ndarray,
    unit: str,
    config: UnitConfig,
    *,
    sim: str | None = None,
    stall: Sequence[str] | None = None,
    seed: int = 0,
    output: str | os.PathLike | None = None,
    verilog: str | os.PathLike | None = None,
    waves: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
    type_: str | None = None,
) -> tuple[dict, str]:
    """Process a tensor with a unit, and compare the output of the Verilog bit for bit.

    Parameters
    ----------
    tensor : ndarray
        Tensor of any shape, with elements as wide as the words of ``config``.
    unit : str
        ``compressor``, ``decompressor`` or ``roundtrip``.
    config : UnitConfig
        Size of the unit.
    sim : str, optional
        Simulator: ``verilator`` (default), ``icarus`` or ``fast``.
    stall : sequence of str, optional
        Back-pressure, see :func:`cdma.sim.backpressure.per_port`. Default: none.
    seed : int
        Seed of back-pressure.
    output : path, optional
        File for the output bytes of the Verilog.
    verilog, waves, progress
        See :func:`cdma.sim.simulate.cosim`.
    type_ : str, optional
        Element type of the tensor, for a unit of several types, and of bare words where the unit
        folds ``-0.0``: ``"bf16"``.

    Returns
    -------
    report : dict
        :func:`cdma.sim.report.record`, and the options of the simulation.
    problem : str
        Difference, violated rule or missed throughput, in one line. Empty without a problem.

    Raises
    ------
    UserError, SimulationError
        See :func:`cdma.sim.simulate.cosim`. Also when type and size do not match, or the file
        cannot be written.
    """
    sim, stall = sim or "verilator", stall or ["never"]
    with refusals_as_user_errors():
        part, number = _part(config, type_)
        check_fold(tensor.dtype, part.format, type_)
        words = codec_of(part.format).words_of(tensor, part.format)
    packet = packet_for(unit, words, part.format)
    if number is not None:
        packet = Typed(number, packet)
    design = {"verilog": verilog, "waves": waves, "progress": progress}
    with ExitStack() as files:
        # Opened before the long part, so that a missing folder is reported at once.
        file = files.enter_context(replacing(output)) if output else None
        result = cosim(unit, [packet], config, sim, stall, seed, **design)
        if file:
            file.write_bytes(result.packets[0].output if result.packets else b"")
    how = {"simulator": sim, "stall": stall, "seed": seed}
    return {**record(result, words), **how}, result.problem
