"""Stimulus of each unit in a co-simulation, and the expected output from the golden model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cdma import designs
from cdma.errors import UserError
from cdma.golden.codecs import codec_of
from cdma.sim import chain, throughput
from cdma.sim.backpressure import per_port
from cdma.sim.compare import Expected, first_difference, wrong_count
from cdma.sim.job import Drain, Feed, Report, Stimulus
from cdma.sim.result import PacketResult, Result, Scenario
from cdma.sim.typed import Typed, config_for


class Bench:
    """Stimulus and expected output of a unit. Each unit has a subclass.

    Parameters
    ----------
    config : Config
        Size of the unit.
    """

    unit: str

    def __init__(self, config):
        self.config = config
        self.format = config.format
        self.golden = codec_of(config.format)
        self.top = f"cdma_{self.unit}"

    def verilog(self, cache=None) -> str:
        """Generated design with top level ``top``. For ``cache`` see :func:`cdma.designs.unit`."""
        return designs.unit(self.unit, self.config, cache)

    @property
    def modules(self) -> tuple[str, ...]:
        """Required modules of a user's design."""
        return (self.top,)

    def complete(self, verilog: str) -> str:
        """A user's design with additional modules for the simulation."""
        return verilog

    def checked(self, packets) -> Sequence:
        """Check ``packets``, and return them as a list. A single array is one packet.

        Raises
        ------
        UserError
            When an element is no packet.
        """
        if isinstance(packets, np.ndarray):
            return [packets]
        for number, packet in enumerate(packets):
            if not isinstance(packet, np.ndarray):
                kind = type(packet).__name__
                raise UserError(f"Packet {number} of the {self.unit} must be an array, not {kind}")
        return packets

    def stimulus(self, scenario: Scenario) -> Stimulus:
        """Packets of the inputs, and the number of packets at each output."""
        profiles = {port: profile.text for port, profile in self.profiles(scenario.stall).items()}
        count = len(scenario.packets)
        inputs = {
            prefix: Feed(packets, profiles[port], port)
            for prefix, port, packets in self.feeds(scenario.packets)
        }
        outputs = {prefix: Drain(count, profiles[port], port) for prefix, port in self.drains}
        return Stimulus(
            inputs,
            outputs,
            dict.fromkeys(self.watched, count),
            scenario.seed,
            scenario.reset_at,
            scenario.reset_cycles,
            scenario.before and self.stimulus(scenario.before),
            scenario.is_dirty,
            self.keep_bytes,
            self.config.constants,
        )

    def profiles(self, stall):
        """Back-pressure of each port."""
        return per_port(stall, self.unit, has_command=bool(self.config.parts))

    def config_for(self, packet):
        """Configuration that a packet is of."""
        return self.config

    drains = (("m_axis", "sink"), ("m_axis_sts", "status"))
    watched = ()
    keep_bytes = 1

    @property
    def outputs(self):
        """Prefixes of the ports with one packet or record for each input packet."""
        return (*(prefix for prefix, _ in self.drains), *self.watched)

    def result(self, scenario: Scenario, report: Report) -> Result:
        """Results, compared with the golden model."""
        if not report.packets:
            return Result(self.unit, self.config, scenario, [], failure=report.failure)
        packets = self.packets(report)
        expected = [self.expected(packet) for packet in scenario.packets]
        counts = {name: len(report.packets[name]) for name in self.outputs}
        configs = [self.config_for(packet) for packet in scenario.packets]
        difference = first_difference(packets, expected, configs)
        difference = difference or wrong_count(counts, len(expected))
        return Result(
            self.unit,
            self.config,
            scenario,
            packets,
            report.stalls,
            self.bound(scenario, expected),
            report.failure,
            difference,
        )

    def packets(self, report):
        ports = report.packets
        found = zip(ports["s_axis"], ports["m_axis"], ports["m_axis_sts"], strict=False)
        return [
            PacketResult(
                output=after.data,
                status=_record(status.data),
                beats_in=before.beats,
                beats_out=after.beats,
                first_cycle=before.first_cycle,
                last_cycle=after.last_cycle,
                status_cycle=status.first_cycle,
                output_cycles=after.cycles,
            )
            for before, after, status in found
        ]

    def bound(self, scenario, expected):
        profiles = self.profiles(scenario.stall).values()
        is_willing = all(profile.text == "never" for profile in profiles)
        if not is_willing or not all(packet.is_well_formed for packet in expected):
            return None
        latency = _emit().latency(self.unit, self.config)
        pause = _emit().pause(self.unit, self.config)
        packets = [packet.words for packet in expected]
        configs = [self.config_for(packet) for packet in scenario.packets]
        most = throughput.most_cycles(packets, configs, latency, pause)
        return most + self.pauses(packets)

    def pauses(self, packets):
        """Cycles between packets that are not their own."""
        return 0


class _Compressor(Bench):
    unit = "compressor"

    def __init__(self, config):
        super().__init__(config)
        self.keep_bytes = config.format.word_bytes

    def words(self, packet):
        return self.golden.words_of(packet, self.format)

    def feeds(self, packets):
        return [("s_axis", "source", [self.words(packet).tobytes() for packet in packets])]

    def expected(self, packet):
        words = self.words(packet)
        stream = self.golden.compress(words, self.format).tobytes()
        return Expected(words, stream, (words.size, len(stream)), unit_bytes=1)


class _Decompressor(Bench):
    unit = "decompressor"

    def checked(self, packets):
        is_pairs = not isinstance(packets, np.ndarray)
        for number, packet in enumerate(packets):
            if not (is_pairs and isinstance(packet, tuple | list) and len(packet) == 2):
                raise UserError(
                    f"Packet {number} of the decompressor must be a pair of a stream and its "
                    f"number of words, not {type(packet).__name__}"
                )
            if self.format.ends_itself and packet[1] is not None:
                raise UserError(
                    f"Packet {number} of the decompressor must have None as its number of words, "
                    f"not {packet[1]!r}: its stream ends itself"
                )
        return packets

    def pauses(self, packets):
        return sum(throughput.dropped_beats(words, self.config) for words in packets)

    def feeds(self, packets):
        streams = [("s_axis", "source", [bytes(stream) for stream, _ in packets])]
        if self.format.ends_itself:
            return streams
        return [*streams, ("s_axis_cmd", "command", [_command(count) for _, count in packets])]

    def expected(self, packet):
        stream, count = packet
        data = np.frombuffer(bytes(stream), np.uint8)
        words, consumed, code = self.golden.salvage(data, count, self.format)
        status = (consumed, int(code))
        if self.format.ends_itself:
            status = (*status, words.size)
        size = words.nbytes if count is None else count * self.format.word_bytes
        return Expected(words, words.tobytes(), status, self.format.word_bytes, code == 0, size)


class _Roundtrip(_Compressor):
    unit = "roundtrip"
    drains = (*Bench.drains, ("m_axis_csts", "status"))
    watched = ("link",)

    modules = ("cdma_compressor", "cdma_decompressor")

    def verilog(self, cache=None):
        units = ("compressor", "decompressor")
        return self.complete("\n".join(designs.unit(unit, self.config, cache) for unit in units))

    def complete(self, verilog):
        return chain.verilog(verilog, self.config)

    def feeds(self, packets):
        if self.format.ends_itself:
            return super().feeds(packets)
        commands = [_command(self.words(packet).size) for packet in packets]
        return [*super().feeds(packets), ("s_axis_cmd", "command", commands)]

    def packets(self, report):
        found = super().packets(report)
        links = zip(report.packets["link"], report.packets["m_axis_csts"], strict=False)
        return [
            replace(
                packet,
                link=stream.data,
                link_status=_record(status.data),
                link_cycles=stream.cycles,
            )
            for packet, (stream, status) in zip(found, links, strict=False)
        ]

    def expected(self, packet):
        sent = super().expected(packet)
        size, words = len(sent.output), sent.words
        if getattr(self.format, "fold_negative_zero", False):  # -0.0 comes back as 0.0
            stream = np.frombuffer(sent.output, np.uint8)
            words, _, _ = self.golden.salvage(stream, words.size, self.format)
        return Expected(
            words,
            words.tobytes(),
            (size, 0, sent.words.size) if self.format.ends_itself else (size, 0),
            self.format.word_bytes,
            link=sent.output,
            link_status=sent.status,
        )

    def bound(self, scenario, expected):
        return None


class _Mixed:
    """A bench of a unit of several types, before that of its name: each packet has its type, and
    is as of a unit of that type."""

    def __init__(self, config):
        super().__init__(config)
        self.keep_bytes = 1
        one_type = BENCHES[self.unit]
        self._benches = {part.name: one_type(part) for part in config.parts.values()}

    def config_for(self, packet):
        return config_for(self.config, packet)

    def checked(self, packets):
        for number, packet in enumerate(packets):
            if not isinstance(packet, Typed):
                raise UserError(
                    f"Packet {number} of a {self.unit} of several types must be Typed, not "
                    f"{type(packet).__name__}"
                )
            self._bench(packet).checked([packet.packet])
        return packets

    def _bench(self, packet):
        return self._benches[self.config_for(packet).name]

    def feeds(self, packets):
        found = {"s_axis": ("source", []), "s_axis_cmd": ("command", [])}
        for packet in packets:
            given = {"s_axis_cmd": b""}
            for prefix, _, records in self._bench(packet).feeds([packet.packet]):
                (given[prefix],) = records
            given["s_axis_cmd"] += bytes([packet.type])
            for prefix, (_, records) in found.items():
                records.append(given[prefix])
        return [(prefix, port, records) for prefix, (port, records) in found.items()]

    def expected(self, packet):
        return self._bench(packet).expected(packet.packet)


class _MixedCompressor(_Mixed, _Compressor):
    pass


class _MixedDecompressor(_Mixed, _Decompressor):
    def pauses(self, packets):
        return 0


class _MixedRoundtrip(_Mixed, _Roundtrip):
    pass


#: By the name of the unit. A roundtrip is a compressor connected to a decompressor.
BENCHES = {bench.unit: bench for bench in (_Compressor, _Decompressor, _Roundtrip)}


#: Likewise, of units of several types.
MIXED = {bench.unit: bench for bench in (_MixedCompressor, _MixedDecompressor, _MixedRoundtrip)}


def bench_of(unit: str, config) -> Bench:
    """The bench of a unit.

    Raises
    ------
    UserError
        When there is no such unit.
    """
    if unit not in BENCHES:
        raise UserError(f"Unit must be one of {', '.join(BENCHES)}, not {unit!r}")
    return (MIXED if config.parts else BENCHES)[unit](config)


#: Bytes consumed, error code and words in a status of a decompressor for a tail of ones.
_COUNTED = (slice(0, 4), slice(8, 9), slice(4, 8))


def _emit():
    """The module that generates Verilog. Imported late, because a bench does not need Amaranth."""
    from cdma.hdl import emit

    return emit


def _command(count):
    return int(count).to_bytes(4, "little")


def _record(data):
    """The fields of a status; of three, the number of words comes last."""
    if len(data) > 8:
        return tuple(int.from_bytes(data[at], "little") for at in _COUNTED)
    return int.from_bytes(data[:4], "little"), int.from_bytes(data[4:], "little")
