"""``cdma cosim``: a tensor through the generated Verilog, compared with the golden model."""

import argparse
import json
import sys

from cdma.cli import engine, options
from cdma.progress import show

EPILOG = f"""\
{options.PROFILES}

{engine.ABOUT}

verilator and icarus run under cocotb; fast is Verilator with a loop in C++, for large tensors: the
same cycles forty times as fast, of the engine a hundred times.

exit status: 0 equal and within the throughput rule, 1 not, 2 wrong input or a missing tool

example:
  cdma cosim activations/step0000.pool1.npy --unit roundtrip
  cdma cosim activations/step0000.relu1.npy --codec zvcplus --sim fast
  cdma cosim words.npy --dtype bfloat16 --config zvcplus-fp32+bf16 --unit roundtrip --sim fast
  cdma cosim activations/step0000.relu1.npy --verilog my_unit.v --waves fail.fst
  cdma cosim activations/step0000.relu1.npy --unit engine --channels 4 --memory dram
  cdma cosim data.npz:conv1 --lanes 4 --stall bernoulli:0.3 --stall source=never --seed 7 --json
"""
HELP = "run a tensor through the generated Verilog and compare with the golden model"
DESCRIPTION = "Stream a tensor through the generated Verilog in a simulator, compare its output \
with the golden model bit for bit, and report cycles. The decompressor is fed a golden stream."


def add_parser(subparsers) -> None:
    """Add the verb ``cosim``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "cosim", run, HELP, **texts)
    add = parser.add_argument
    options.add_tensor_options(parser)
    unit = "which unit, or the engine: out to host memory and back (default: compressor)"
    add("--unit", choices=(*options.SIMULATED, engine.ENGINE), default="compressor", help=unit)
    options.add_config_options(parser, default="that of the tensor")
    options.add_codec_options(parser, default="that of the tensor")
    engine.add_engine_options(parser)
    engine.add_run_options(parser)
    simulator = "simulator (default: verilator, of the engine fast)"
    add("--sim", choices=("verilator", "icarus", "fast"), help=simulator)
    options.add_stall_option(parser)
    add("--seed", type=int, default=0, metavar="N", help="of back-pressure")
    options.add_design_options(parser, "file for the waveforms of all signals")
    output = "file for the bytes that the Verilog emitted"
    add("-o", "--output", type=options.file_to_write, metavar="OUT.bin", help=output)
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Simulate, report, and give 1 when the outcome is not what was promised."""
    tensor, type_ = options.tensor_from(args)
    options.refuse_below(args, seed=0)
    from cdma.sim.report import text
    from cdma.sim.tensor import simulate

    how = {key: vars(args)[key] for key in ("sim", "stall", "seed", "output", "verilog", "waves")}
    if args.unit == engine.ENGINE:
        report, problem = engine.round_trip(args, tensor, type_, show)
    else:
        engine.refuse_engine_options(args)
        config = options.config_from(args, tensor.itemsize * 8, type_)
        how |= {"progress": show, "type_": type_}
        report, problem = simulate(tensor, args.unit, config, **how)
    report = {"tensor": args.tensor, **report}
    print(json.dumps(report, indent=2) if args.json else text(report))
    if problem:
        more = "" if args.waves else "; the same with --waves fail.fst shows all signals"
        print(f"cdma cosim: {problem}{more}", file=sys.stderr)
    return int(bool(problem))
