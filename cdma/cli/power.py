"""``cdma power``: energy of a unit in standard cells on a real tensor."""

import argparse
import json
import sys

from cdma.cli import options
from cdma.cli.options.tensors import words_of
from cdma.errors import UserError
from cdma.files import write_text
from cdma.tensors.load import load_tensor

EPILOG = """\
The unit is mapped as cdma synth maps it. Its netlist of cells runs in Icarus Verilog, and the
output is compared with the golden model. Energy comes from the changes of every net and the tables
of the Liberty file, without wires and without a clock tree (docs/performance.md). Power is given at
the clock that OpenSTA finds, and left out without it.

example:
  cdma power activations/step0500.relu2.npy --unit decompressor --liberty nangate45_typ.lib.gz
ends with status 1 when the output of the netlist differs from the golden model
"""
HELP = "energy per byte in standard cells, from a real tensor's switching"
DESCRIPTION = "Energy of a unit in standard cells while a tensor passes through it."


def add_parser(subparsers) -> None:
    """Add the verb ``power``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    parser = options.add_verb(subparsers, "power", run, HELP, **texts)
    add = parser.add_argument
    add("tensor", nargs="+", metavar="FILE", help="FILE.npy or FILE.npz:KEY, one or more")
    options.add_dtype_option(parser)
    options.add_units_option(parser)
    options.add_config_options(parser, "the tensor's elements")
    words = "how many words of the tensor, from its first (default: 8192)"
    add("--words", type=int, default=8192, metavar="N", help=words)
    options.add_liberty_option(parser)
    options.add_cache_option(parser)
    options.add_save_option(parser, "write the report as JSON")
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Map, simulate, add up, and print; 1 when the netlist's output is wrong."""
    path = options.liberty_path(args)
    if not path:
        raise UserError("energy needs a cell library: give --liberty FILE or CDMA_LIBERTY")
    options.refuse_below(args, words=1)
    packets = [(name, *_packet(args, name)) for name in args.tensor]
    from cdma.synth import liberty
    from cdma.synth.power import report
    from cdma.toolchain.icarus import iverilog
    from cdma.toolchain.steps import Steps

    iverilog()  # a missing tool is reported before the long part
    steps = Steps(args.cache, options.announce)
    records = report.records(options.units_from(args), packets, liberty.read(path), steps)
    text = json.dumps({"records": records}, indent=2)
    if args.save:
        write_text(args.save, f"{text}\n")
    print(text if args.json else report.table(records))
    wrong = [record["unit"] for record in records if not record["is_equal"]]
    for unit in wrong:
        message = f"{unit}: the netlist gave another output than the golden model"
        print(f"cdma power: {message}", file=sys.stderr)
    return int(bool(wrong))


def _packet(args: argparse.Namespace, name: str):
    """Configuration for a tensor, and its words, as many as are asked for."""
    from cdma.tensors.codec.elements import typed

    tensor, _ = typed(load_tensor(name), args.dtype)
    config = options.one_type(options.config_from(args, tensor.itemsize * 8), "cdma power")
    words = words_of(tensor, config.format, args.dtype)[: args.words]
    if not words.size:
        raise UserError(f"{name}: is empty, expected at least one word")
    return config, words
