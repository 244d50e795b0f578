"""What ``cdma cosim`` and ``cdma fuzz`` do for ``--unit engine``."""

import argparse
import json

from cdma.cli.engine.options import SIZES, engine_config_from, refuse
from cdma.cli.options import flag, natural
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing, write_text
from cdma.tensors.rows import type_of

#: Options of a round trip that are of the engine alone.
_OWN = ("memory", "host_memory", "raw")
#: Options of one engine, which ``--all-sizes`` does not take.
_OF_ONE_SIZE = ("batch", "config", "lanes", "word_bits", "block_words", "codec", "type", *SIZES)
#: Jobs after which a long run of all sizes writes its report, and goes on.
_PART = 50_000
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
    refuse(args, *_OWN, "all_sizes", "round", "job")


def round_trip(args: argparse.Namespace, tensor, progress) -> tuple[dict, str]:
    """Report of a round trip, and its problem."""
    from cdma.golden.codecs import codec_of
    from cdma.sim.engine.cosim import round_trip as run
    from cdma.sim.engine.memory import memory

    config = engine_config_from(args, tensor.itemsize * 8, type_of(tensor.dtype))
    with refusals_as_user_errors():
        codec_of(config.format).words_of(tensor, config.format)
    if args.stall:
        raise UserError("--stall is for units: the engine's memories stall, see --memory")
    options = {"simulator": args.sim or "fast", "raw": args.raw or "auto", "seed": args.seed}
    options["progress"] = progress
    if args.verilog:
        options["verilog"] = args.verilog.read_text(encoding="utf-8")
    memories = memory(args.memory or "far"), memory(args.host_memory or "host")
    trip = run(tensor, config, *memories, waves=args.waves, **options)
    if args.output:
        with replacing(args.output) as file:
            file.write_bytes(trip.stream.tobytes())
    timing = {"memory": args.memory or "far", "host_memory": args.host_memory or "host"}
    run_of = {"simulator": options["simulator"], "seed": args.seed}
    return {**trip.record(config, tensor.nbytes), **timing, **run_of}, trip.problem


def add_fuzz_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--all-sizes``, ``--round`` and ``--job``."""
    group = parser.add_argument_group("of random jobs of the engine")
    sizes = "engines of a dozen sizes, each with its share of --packets"
    group.add_argument("--all-sizes", action="store_const", const=True, help=sizes)
    group.add_argument("--round", type=natural, metavar="N", help="of --batch, this round only")
    group.add_argument("--job", type=natural, metavar="N", help="of --round, this job only")


def fuzz(args: argparse.Namespace, progress) -> list[dict]:
    """Reports of runs of random jobs, up to the first that fails.

    Of all sizes, a part of the jobs is played with each, then the next part. The report is written
    after each part, so a run that is stopped has a result.
    """
    from cdma.verify.fuzz import engine

    if args.waves or args.verilog:
        raise UserError("--waves and --verilog are for units, not for random jobs of the engine")
    for name, needed in (("round", "batch"), ("job", "round")):
        if getattr(args, name) is not None and getattr(args, needed) is None:
            raise UserError(f"{flag(name)} needs {flag(needed)}")
    sizes = [(engine_config_from(args), 1)]
    if args.all_sizes:
        for name in _OF_ONE_SIZE:
            if getattr(args, name, None) is not None:
                raise UserError(f"{flag(name)} is for one size: leave --all-sizes out")
        sizes = engine.SIZES
    whole = sum(share for _, share in sizes)
    where = {"round_": args.round, "only": args.job}
    where |= {"processes": args.jobs, "scheduler": args.scheduler}
    outcomes, parts = {}, -(-args.packets // _PART) if args.all_sizes else 1
    for part in range(1, parts + 1):
        for config, share in sizes:
            jobs = -(-args.packets * share * part // (whole * parts))
            limits = (jobs, args.seed, args.batch)
            before = outcomes.get(config)
            found = engine.fuzz(config, *limits, before=before, progress=progress, **where)
            outcomes[config] = found
            if found.problem:
                break
        rows = [engine.row(config, args.seed, each) for config, each in outcomes.items()]
        if args.save:
            write_text(args.save, f"{json.dumps(rows, indent=1)}\n")
        if found.problem:
            break
    return rows
