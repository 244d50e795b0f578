"""``cdma cosim``: a tensor through the generated Verilog, compared with the golden model."""

import argparse
import json
import sys

from cdma.cli import options
from cdma.cli.engine.options import add_engine_options
from cdma.cli.engine.runs import add_run_options, refuse_engine_options, round_trip
from cdma.cli.options import add_config_options, config_from
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import replacing
from cdma.tensors.load import NAMING, load_tensor

UNITS = (*options.UNITS, "roundtrip")
ENGINE = "engine"
SIMULATORS = ("verilator", "icarus", "fast")

EPILOG = """\
PROFILE says in which cycles a port stalls: an input port offers no new beat, an output port
holds tready low.
  never               does not stall
  always-but-one[:K]  ready in one of K cycles, stalls in the others (default: 4)
  alternating         stalls in every second cycle
  bernoulli:P         stalls in each cycle with the probability P
  bursts:ON,OFF       ready for ON cycles, stalls for OFF cycles, and again; from a random phase
  paused:CYCLES[,AT]  stalls once, for CYCLES cycles, from cycle AT on (default: 0)
A profile alone is for all ports; PORT=PROFILE for one of source (input packets), sink (output
packets), status, and command (decompressor and roundtrip). Cycles count from the end of reset.

The engine takes the tensor out to host memory and back, through registers and rings; host memory,
index and completion are compared with the golden engine. Its memories have latency, jitter,
bandwidth and stalls: --memory far:latency=100,jitter=50,r=bernoulli:0.3 for example.

verilator and icarus run under cocotb; fast is Verilator with a loop in C++, for large tensors: the
same cycles forty times as fast.

exit status: 0 equal and within the throughput rule, 1 not, 2 wrong input or a missing tool

example:
  cdma cosim activations/step0000.pool1.npy --unit roundtrip
  cdma cosim activations/step0000.relu1.npy --sim fast
  cdma cosim activations/step0000.relu1.npy --verilog my_unit.v --waves fail.fst
  cdma cosim activations/step0000.relu1.npy --unit engine --channels 4 --memory dram
  cdma cosim data.npz:conv1 --lanes 4 --stall bernoulli:0.3 --stall source=never --seed 7 --json
"""


def add_parser(subparsers) -> None:
    """Add the verb ``cosim``."""
    parser = subparsers.add_parser(
        "cosim",
        help="run a tensor through the generated Verilog and compare with the golden model",
        description="Stream a tensor through the generated Verilog in a simulator, compare what it "
        "emits with the golden model bit for bit, and report cycles, beats and bytes. The "
        "decompressor is fed what the golden model compressed.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tensor", metavar="FILE", help=NAMING)
    parser.add_argument(
        "--unit",
        choices=(*UNITS, ENGINE),
        default="compressor",
        help="which unit, or the engine: out to host memory and back (default: compressor)",
    )
    add_config_options(parser, default="that of the tensor")
    add_engine_options(parser)
    add_run_options(parser)
    parser.add_argument(
        "--sim",
        choices=SIMULATORS,
        help="simulator (default: verilator; of the engine: fast, and no other)",
    )
    parser.add_argument(
        "--stall",
        action="append",
        metavar="[PORT=]PROFILE",
        help="back-pressure, may be given again (default: never)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of back-pressure")
    options.add_design_options(parser, "file for the waveforms of all signals")
    parser.add_argument(
        "-o", "--output", metavar="OUT.bin", help="file for the bytes that the Verilog emitted"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and give 1 when the outcome is not what was promised."""
    tensor = load_tensor(args.tensor)
    if args.seed < 0:
        raise UserError(f"--seed must be zero or more, not {args.seed}")
    if args.unit == ENGINE:
        return _tell(args, *_engine(args, tensor))
    refuse_engine_options(args)
    args.sim = args.sim or "verilator"
    config = config_from(args, tensor.itemsize * 8)
    from cdma.golden.zvc.words import format_for, to_words
    from cdma.sim import SimulationError
    from cdma.sim.report import record

    with refusals_as_user_errors():
        format_for(tensor.dtype, config.format)
    words = to_words(tensor)
    try:
        if args.output:
            with replacing(args.output) as file:  # a missing folder is reported at once
                result = _simulate(args, config, words)
                file.write_bytes(result.packets[0].output if result.packets else b"")
        else:
            result = _simulate(args, config, words)
    except SimulationError as error:
        print(f"cdma cosim: {error}", file=sys.stderr)
        return 1
    report = {
        "tensor": args.tensor,
        **record(result, words),
        "simulator": args.sim,
        "stall": args.stall or ["never"],
        "seed": args.seed,
    }
    return _tell(args, report, result.problem)


def _engine(args, tensor):
    """Report and problem of a round trip through the engine."""
    from cdma.sim import SimulationError

    try:
        report, problem = round_trip(args, tensor, show_progress)
    except SimulationError as error:
        return None, str(error)
    return {"tensor": args.tensor, **report}, problem


def _tell(args, report, problem):
    """Print a report where there is one, and the problem; gives the exit status."""
    if report is not None:
        if args.json:
            print(json.dumps(report, indent=2))
        else:
            _print(report)
    if problem:
        more = "" if args.waves else "; the same with --waves fail.fst shows all signals"
        print(f"cdma cosim: {problem}{more}", file=sys.stderr)
    return 1 if problem else 0


def _simulate(args, config, words):
    from cdma.golden import compress
    from cdma.sim import cosim

    is_stream = args.unit == "decompressor"
    packet = (compress(words, config.format), words.size) if is_stream else words
    stall = args.stall or "never"
    return cosim(
        *(args.unit, [packet], config, args.sim, stall, args.seed),
        verilog=args.verilog,
        waves=args.waves,
        progress=show_progress,
    )


def show_progress(text: str) -> None:
    """Tell on stderr how far a simulation is."""
    print(text, file=sys.stderr, flush=True)


def _print(report):
    width = max(16, *(len(key) + 1 for key in report))
    for key, value in report.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {count:,}" for name, count in value.items())
        elif isinstance(value, list):
            value = " ".join(value)
        elif isinstance(value, float):
            value = f"{value:.4g}"
        elif isinstance(value, int) and key != "seed":
            value = f"{value:,}"
        print(f"{key.replace('_', ' '):<{width}}{'-' if value is None else value}")
