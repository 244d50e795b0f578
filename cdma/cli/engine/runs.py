"""What ``cdma cosim`` and ``cdma fuzz`` do for ``--unit engine``."""

import argparse

from cdma.cli.engine.options import SIZES
from cdma.cli.options import flag
from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing

#: Options of a round trip that are of the engine alone.
_OWN = ("memory", "host_memory", "raw")
#: For the end of the help of ``cdma cosim``.
ABOUT = """\
The engine takes the tensor out to host memory and back, through registers and rings; host memory,
index and completion are compared with the golden engine. Its memories have latency, jitter,
bandwidth and stalls: --memory far:latency=100,jitter=50,r=bernoulli:0.3 for example."""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--memory``, ``--host-memory`` and ``--raw``."""
    group = parser.add_argument_group("of the engine's memories")
    names = "ideal, near, dram, far, host or rough, and changes such as far:latency=100,r=PROFILE"
    group.add_argument("--memory", metavar="MEMORY", help=f"device: {names} (default: far)")
    group.add_argument("--host-memory", metavar="MEMORY", help="host, likewise (default: host)")
    group.add_argument(
        "--raw", choices=("never", "auto", "always"), help="policy of raw stripes (default: auto)"
    )


def refuse_engine_options(args: argparse.Namespace) -> None:
    """Refuse options of the engine for a unit."""
    for option in (*SIZES, *_OWN):
        if getattr(args, option, None) is not None:
            raise UserError(f"{flag(option)} is for the engine, not for units")


def config_for(args: argparse.Namespace, word_bits: int = 32) -> EngineConfig:
    """``EngineConfig`` that the options describe; words as wide as ``word_bits`` by default."""
    from cdma.cli.options import config_from

    unit = config_from(args, word_bits)
    sizes = {name: getattr(args, name) for name in SIZES if getattr(args, name) is not None}
    with refusals_as_user_errors():
        return EngineConfig(
            lanes=unit.lanes,
            word_bits=unit.format.word_bits,
            block_words=unit.format.block_words,
            **sizes,
        )


def round_trip(args: argparse.Namespace, tensor, progress) -> tuple[dict, str]:
    """Report of a round trip, and its problem."""
    from cdma.golden.zvc.words import format_for
    from cdma.sim.engine.cosim import round_trip as run
    from cdma.sim.engine.memory import memory

    config = config_for(args, tensor.itemsize * 8)
    with refusals_as_user_errors():
        format_for(tensor.dtype, config.format)
    if args.sim != "fast" and args.sim is not None:
        raise UserError("--sim of the engine must be fast: Verilator with a loop in C++")
    if args.stall:
        raise UserError("--stall is for units: the engine's memories stall, see --memory")
    options = {"raw": args.raw or "auto", "seed": args.seed, "progress": progress}
    if args.verilog:
        options["verilog"] = args.verilog.read_text(encoding="utf-8")
    memories = memory(args.memory or "far"), memory(args.host_memory or "host")
    trip = run(tensor, config, *memories, waves=args.waves, **options)
    if args.output:
        with replacing(args.output) as file:
            file.write_bytes(trip.stream.tobytes())
    return _report(args, tensor, config, trip), trip.problem


def _report(args, tensor, config, trip):
    out, back = trip.offload, trip.prefetch
    size = None if out is None else out.completion.stream_bytes
    return {
        "unit": "engine",
        "config": config.name,
        "channels": config.channels,
        "lanes": config.lanes,
        "word_bits": config.word_bits,
        "bytes_in": int(tensor.nbytes),
        "stream_bytes": size,
        "ratio": tensor.nbytes / size if size else None,
        "stripes": config.stripes(tensor.nbytes),
        "raw_stripes": None if out is None else out.completion.raw_stripes,
        "offload_cycles": None if out is None else out.cycles,
        "least_offload_cycles": trip.least_cycles[0],
        "prefetch_cycles": None if back is None else back.cycles,
        "least_prefetch_cycles": trip.least_cycles[1],
        "bytes_per_cycle": tensor.nbytes / out.cycles if out is not None else None,
        "memory": args.memory or "far",
        "host_memory": args.host_memory or "host",
        "simulator": "fast",
        "seed": args.seed,
        "comparison": trip.problem or "equal",
    }


def fuzz(args: argparse.Namespace, progress) -> dict:
    """Report of a run of random jobs."""
    from cdma.verify.fuzz.engine import fuzz as run

    config = config_for(args)
    if args.waves or args.verilog:
        raise UserError("--waves and --verilog are for units, not for random jobs of the engine")
    outcome = run(config, args.packets, args.seed, args.batch, progress=progress)
    return {
        "unit": "engine",
        "config": config.name,
        "seed": args.seed,
        "packets": outcome.jobs,
        "malformed": outcome.faulty,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": outcome.seconds,
        "errors": dict(sorted(outcome.statuses.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": _replay(args, config, outcome.failed_batch),
    }


def _replay(args, config, batch):
    """Command that plays a batch again."""
    if batch is None:
        return None
    sizes = [
        f"{flag(name)} {getattr(args, name)}" for name in SIZES if getattr(args, name) is not None
    ]
    unit = f"--lanes {config.lanes} --word-bits {config.word_bits} --block-words"
    parts = [f"cdma fuzz --unit engine {unit} {config.block_words}", *sizes]
    return " ".join([*parts, f"--seed {args.seed} --batch {batch}"])
