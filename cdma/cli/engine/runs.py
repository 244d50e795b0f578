"""What ``cdma cosim`` and ``cdma fuzz`` do for ``--unit engine``."""

import argparse
from collections.abc import Callable

from cdma.cli.engine.options import engine_config_from, given_sizes
from cdma.cli.options import flag
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing

#: For the end of the help of ``cdma cosim``.
ABOUT = """\
The engine takes the tensor out to host memory and back, through registers and rings; host memory,
index and completion are compared with the golden engine. Its memories have latency, jitter,
bandwidth and stalls: --memory far:latency=100,jitter=50,r=bernoulli:0.3 for example."""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--memory``, ``--host-memory`` and ``--raw``."""
    add = parser.add_argument_group("of the engine's memories").add_argument
    names = "ideal, near, dram, far, host or rough, and changes such as far:latency=100,r=PROFILE"
    add("--memory", metavar="MEMORY", help=f"device: {names} (default: far)")
    add("--host-memory", metavar="MEMORY", help="host, likewise (default: host)")
    policy = "policy of raw stripes (default: auto)"
    add("--raw", choices=("never", "auto", "always"), help=policy)


def round_trip(
    args: argparse.Namespace, tensor, progress: Callable[[str], None]
) -> tuple[dict, str]:
    """Report of a round trip, and its problem."""
    from cdma.golden.zvc.words import format_for
    from cdma.sim.engine.cosim import round_trip as run
    from cdma.sim.engine.memory import memory
    from cdma.sim.engine.report import record

    config = engine_config_from(args, tensor.itemsize * 8)
    with refusals_as_user_errors():
        format_for(tensor.dtype, config.format)
    if args.sim != "fast" and args.sim is not None:
        raise UserError("--sim of the engine must be fast: Verilator with a loop in C++")
    if args.stall:
        raise UserError("--stall is for units: the engine's memories stall, see --memory")
    how = {"raw": args.raw or "auto", "seed": args.seed, "progress": progress}
    if args.verilog:
        how["verilog"] = args.verilog.read_text(encoding="utf-8")
    names = {"memory": args.memory or "far", "host_memory": args.host_memory or "host"}
    trip = run(tensor, config, *map(memory, names.values()), waves=args.waves, **how)
    if args.output:
        with replacing(args.output) as file:
            file.write_bytes(trip.stream.tobytes())
    how = {**names, "simulator": "fast", "seed": args.seed}
    verdict = {"comparison": trip.problem or "equal"}
    return {**record(tensor, config, trip), **how, **verdict}, trip.problem


def fuzz(args: argparse.Namespace, progress: Callable[[str], None]) -> dict:
    """Report of a run of random jobs."""
    from cdma.verify.fuzz import engine, report

    config = engine_config_from(args)
    if args.waves or args.verilog:
        raise UserError("--waves and --verilog are for units, not for random jobs of the engine")
    outcome = engine.fuzz(config, args.packets, args.seed, args.batch, progress=progress)
    sizes = " ".join(f"{flag(name)} {value}" for name, value in given_sizes(args).items())
    return report.engine_row(config, sizes, args.seed, outcome)
