"""The RTL as a function from NumPy arrays to NumPy arrays, with the compiled model."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.format import Format, StreamFormat
from cdma.golden.codecs import codec_of
from cdma.golden.zvc.words import to_bytes
from cdma.hdl.codecs import config_of
from cdma.sim.backpressure import per_port
from cdma.sim.cocotb.ports import Violation
from cdma.sim.compiled.build import status_bytes
from cdma.sim.compiled.run import Fed, Played
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.simulate import design_text


@dataclass(frozen=True)
class ModelResult:
    """Output of a unit. Cycles count from reset.

    Attributes
    ----------
    output : np.ndarray
        All output packets, concatenated: bytes of the stream (uint8) for the compressor, words of
        the format for the other units, or their bytes from a unit of several types.
    offsets : np.ndarray of int64, shape (packets + 1,)
        Position of each packet in ``output``, and the end of the last packet.
    status : np.ndarray of uint32, shape (packets, 2)
        Status records: words in and bytes out, or bytes consumed and error code. With a tail of
        ones, shape (packets, 3): bytes consumed, words out and error code.
    ports : dict of str to np.ndarray
        By port prefix, the transfer of each packet (record): fields ``beats``, ``first_cycle``,
        ``last_cycle`` and ``end``, bytes up to the end of the packet.
    stalls : dict of str to int
        By port prefix, cycles with ``tvalid`` and without ``tready``.
    """

    output: np.ndarray
    offsets: np.ndarray
    status: np.ndarray
    ports: dict[str, np.ndarray]
    stalls: dict[str, int]

    @property
    def cycles(self) -> int:
        """From the first input handshake to the last output handshake, both included."""
        if not len(self.status):
            return 0
        first, last = self.ports["s_axis"][0], self.ports["m_axis"][-1]
        return int(last["last_cycle"] - first["first_cycle"]) + 1

    @property
    def beats_in(self) -> int:
        """Number of input beats."""
        return int(self.ports["s_axis"]["beats"].sum())

    @property
    def beats_out(self) -> int:
        """Number of output beats."""
        return int(self.ports["m_axis"]["beats"].sum())


class RtlModel:
    """A unit's generated Verilog, compiled with Verilator, as a function on arrays.

    Every run starts with a reset and ends after the last output packet and the last status. Stalls
    and cycles are equal to :func:`cdma.sim.cosim`. The rules of the stream are checked in every
    cycle. Input and output arrays are not copied. A model is built once and cached
    (``CDMA_CACHE``). Threads may share a model.

    Speed: about three million cycles a second at 8 lanes of 32 bits. ``cdma bench`` measures the
    speed.

    Parameters
    ----------
    unit : str
        ``compressor``, ``decompressor`` or ``roundtrip``, a compressor connected to a decompressor.
    fmt : StreamFormat, sequence of Format, or None
        Format of the stream, of any codec. With ``None``, the default format of 32-bit words. With
        several formats of ZVC+, a unit of several types: each packet has its type, and packets of
        words are bytes.
    lanes : int or None
        Words in a beat, see :func:`cdma.hdl.codecs.config_of`.
    verilog : str or None
        Verilog to compile in place of the generated Verilog.
    cache, progress
        See :func:`cdma.toolchain.simulators.build`.

    Raises
    ------
    UserError
        When a parameter is wrong or a tool is missing.
    SimulationError
        When the model cannot be built.
    """

    def __init__(
        self,
        unit: str,
        fmt: StreamFormat | Sequence[StreamFormat] | None = None,
        lanes: int | None = None,
        *,
        verilog: str | None = None,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
    ):
        with refusals_as_user_errors():
            self.config = config_of(Format() if fmt is None else fmt, lanes)
        self.unit = unit
        verilog = design_text(unit, self.config, verilog)
        self._model = ModelUnit(unit, self.config, verilog, cache, progress)

    def run(
        self,
        array: np.ndarray,
        stall: str | Iterable[str] | Mapping[str, str] = "never",
        seed: int = 0,
        *,
        count: int | None = None,
        type: str | None = None,
        **options,
    ) -> ModelResult:
        """Play one packet.

        Parameters
        ----------
        array : np.ndarray
            Compressor, roundtrip: numbers of any shape with elements as wide as a word, see
            :func:`cdma.golden.compress`. Decompressor: a stream, bytes or uint8.
        stall : str, iterable of str or mapping
            Back-pressure, see :func:`cdma.sim.backpressure.per_port`.
        seed : int
            Seeds back-pressure, junk, and registers without reset.
        count : int or None
            Number of words in the stream, only for the decompressor, and not with a tail of ones.
        type : str or None
            Element type of the packet, only for a unit of several types, such as ``"bf16"``.
        **options
            See :meth:`run_packets`.

        Raises
        ------
        See :meth:`run_packets`.
        """
        if self.config.parts and self.unit != "decompressor":
            fmt = self._part(type).format
            array = codec_of(fmt).words_of(array, fmt).view(np.uint8)
        array = self._elements(array)
        counts = None if count is None else [count]
        options |= {"counts": counts, "types": None if type is None else [type]}
        return self.run_packets(array, [0, array.size], stall, seed, **options)

    def run_packets(
        self,
        array: np.ndarray,
        offsets: np.ndarray,
        stall: str | Iterable[str] | Mapping[str, str] = "never",
        seed: int = 0,
        *,
        counts: np.ndarray | None = None,
        types: Sequence[str] | None = None,
        is_dirty: bool = False,
        **options,
    ) -> ModelResult:
        """Play many packets back to back.

        Parameters
        ----------
        array, stall, seed
            See :meth:`run`. ``array`` is the concatenation of all packets.
        offsets : array of int, shape (packets + 1,)
            Position of each packet in the flattened ``array``, in elements, and the end of the
            last packet. For a unit of several types, ``array`` is bytes.
        counts : array of int or None, shape (packets,)
            Number of words in each stream, only for the decompressor.
        types : sequence of str or None
            Element type of each packet, only for a unit of several types.
        is_dirty : bool
            Drive junk on signals that a unit must ignore, see :class:`cdma.sim.job.Stimulus`.
        **options
            ``seconds``, wall time after which the run is stopped, and ``progress``, a function that
            is called about once a second with the state of the run.

        Raises
        ------
        UserError
            When ``offsets`` or ``counts`` do not match the array.
        TypeError, ValueError
            When the elements of ``array`` are not words of the format.
        Violation
            When the RTL breaks a rule of the stream, or hangs: port, rule and cycle.
        SimulationError
            After ``seconds``.
        """
        array = self._elements(array)
        offsets = _checked_offsets(offsets, array.size)
        parts = self._parts(offsets, types)
        counts = self._counts(offsets, counts, parts)
        data, ends = array.view(np.uint8), offsets * array.itemsize
        profiles = per_port(stall, self.unit, has_command=bool(parts))
        numbers = np.array([each.word.number for each in parts], np.uint8) if parts else None
        fed = Fed(data, ends, counts, profiles, seed, is_dirty, numbers)
        played = self._model.play(fed, **options)
        if played.failure:
            raise Violation(played.failure)
        return self._result(played)

    def _elements(self, array):
        """The input, flat and contiguous: words, or the bytes of streams."""
        if self.unit == "decompressor" or self.config.parts:
            return np.ascontiguousarray(to_bytes(array))
        return codec_of(self.config.format).words_of(array, self.config.format)

    def _part(self, type_):
        """Configuration of a unit of one of the types."""
        for part in self.config.parts.values():
            if part.type == type_:
                return part
        if not self.config.parts:
            raise UserError(f"Types of packets are for units of several types, not {type_!r}")
        known = ", ".join(part.type for part in self.config.parts.values())
        raise UserError(f"Type of a packet must be one of {known}, not {type_!r}")

    def _parts(self, offsets, types):
        """Configuration of each packet's type; none for a unit of one type."""
        if types is None and not self.config.parts:
            return []
        if types is None or len(types) != len(offsets) - 1:
            raise UserError(f"Types must be {len(offsets) - 1} names, one for each packet")
        return [self._part(type_) for type_ in types]

    def _counts(self, offsets, counts, parts):
        """Number of words in each packet, for a unit whose commands have it."""
        ends_itself = self.config.format.ends_itself
        if self.unit != "decompressor" or ends_itself:
            if counts is not None:
                user = "a tail of zeros" if ends_itself else "the decompressor"
                raise UserError(f"Word counts are for {user}, not for the {self.unit}")
            sizes = [part.format.word_bytes for part in parts] or 1
            return None if self.unit == "compressor" or ends_itself else np.diff(offsets) // sizes
        if counts is None:
            raise UserError("the decompressor needs the word count of each packet")
        counts = np.asarray(counts)
        if counts.shape != (len(offsets) - 1,) or ((counts < 0) | (counts >= 1 << 32)).any():
            raise UserError(
                f"Word counts must be {len(offsets) - 1} numbers from 0 to 2**32 - 1, "
                f"one for each packet"
            )
        return counts

    def _result(self, played: Played) -> ModelResult:
        ports = played.ports
        output = ports["m_axis"].data
        offsets = np.concatenate([[0], ports["m_axis"].packets["end"]]).astype(np.int64)
        if self.unit != "compressor" and not self.config.parts:
            size = self.config.format.word_bytes
            if (offsets % size).any():
                raise Violation("m_axis: a packet of words does not end with a whole word")
            output, offsets = output.view(self.config.format.dtype), offsets // size
        size = status_bytes(self.unit, self.config)
        status = np.zeros((len(offsets) - 1, -(-size // 4) * 4), np.uint8)
        status[:, :size] = ports["m_axis_sts"].data.reshape(-1, size)
        return ModelResult(
            output,
            offsets,
            status.view("<u4"),
            {prefix: port.packets for prefix, port in ports.items()},
            {prefix: port.stalls for prefix, port in ports.items()},
        )


def _checked_offsets(offsets, size):
    offsets = np.asarray(offsets, np.int64)
    is_flat = offsets.ndim == 1 and offsets.size
    if not is_flat or offsets[0] < 0 or offsets[-1] > size or (np.diff(offsets) < 0).any():
        raise UserError(f"Offsets of packets must not fall, and lie in 0..{size}")
    return offsets
