"""What ``cdma cosim`` does for ``--unit engine``."""

import argparse

from cdma.cli.engine.options import engine_config_from, refuse
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import read_verilog, replacing

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
    refuse(args, *_OWN, "all_sizes", "resume", "round", "job")


def round_trip(args: argparse.Namespace, tensor, type_: str, progress) -> tuple[dict, str]:
    """Report of a round trip of a tensor with elements of a ZVC+ type, and its problem."""
    from cdma.golden.codecs import codec_of
    from cdma.sim.engine.cosim import round_trip as run
    from cdma.sim.engine.memory import memory

    config = engine_config_from(args, tensor.itemsize * 8, type_)
    with refusals_as_user_errors():
        codec_of(config.format).words_of(tensor, config.format)
    if args.stall:
        raise UserError("--stall is for units: the engine's memories stall, see --memory")
    options = {"simulator": args.sim or "fast", "raw": args.raw or "auto", "seed": args.seed}
    options["progress"] = progress
    if args.verilog:
        options["verilog"] = read_verilog(args.verilog, ["cdma_engine"])
    memories = memory(args.memory or "far"), memory(args.host_memory or "host")
    trip = run(tensor, config, *memories, waves=args.waves, **options)
    if args.output:
        with replacing(args.output) as file:
            file.write_bytes(trip.stream.tobytes())
    timing = {"memory": args.memory or "far", "host_memory": args.host_memory or "host"}
    run_of = {"simulator": options["simulator"], "seed": args.seed}
    return {**trip.record(config, tensor.nbytes), **timing, **run_of}, trip.problem
