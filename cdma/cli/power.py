"""``cdma power``: energy of a unit in standard cells on a real tensor."""

import argparse
import json
import os
import sys

from cdma.cli.options import add_config_options, add_units_option, config_from, units_from
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import write_text
from cdma.tables import format_table
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


def add_parser(subparsers) -> None:
    """Add the verb ``power``."""
    parser = subparsers.add_parser(
        "power",
        help="energy per byte in standard cells, from a real tensor's switching",
        description="Energy of a unit in standard cells while a tensor passes through it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "tensor", nargs="+", metavar="FILE", help="FILE.npy or FILE.npz:KEY, one or more"
    )
    add_units_option(parser)
    add_config_options(parser, "the tensor's elements")
    parser.add_argument(
        "--words",
        type=int,
        default=8192,
        metavar="N",
        help="how many words of the tensor, from its first (default: 8192)",
    )
    parser.add_argument(
        "--liberty",
        metavar="FILE",
        help="cell library, .lib or .lib.gz (default: $CDMA_LIBERTY, a file or a folder)",
    )
    parser.add_argument(
        "--cache",
        metavar="DIR",
        help="folder of kept results (default: $CDMA_CACHE, or your cache folder)",
    )
    parser.add_argument("--save", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Map, simulate, add up, and print; 1 when the netlist's output is wrong."""
    path = args.liberty or os.environ.get("CDMA_LIBERTY")
    if not path:
        raise UserError("energy needs a cell library: give --liberty FILE or CDMA_LIBERTY")
    if args.words < 1:
        raise UserError(f"--words must be one or more, not {args.words}")
    packets = [(name, *_packet(args, name)) for name in args.tensor]
    from cdma.synth import liberty
    from cdma.toolchain.icarus import iverilog
    from cdma.toolchain.steps import Steps

    iverilog()  # a missing tool is reported before the long part
    library = liberty.read(path)
    steps = Steps(args.cache, announce)
    records = [
        {
            "unit": unit,
            "tensor": name.rpartition("/")[2],
            **_record(unit, config, words, library, steps),
        }
        for name, config, words in packets
        for unit in units_from(args)
    ]
    report = json.dumps({"records": records}, indent=2)
    if args.save:
        write_text(args.save, f"{report}\n")
    if args.json:
        print(report)
    else:
        print(table(records))
    wrong = [record["unit"] for record in records if not record["is_equal"]]
    for unit in wrong:
        message = f"cdma power: {unit}: the netlist gave another output than the golden model"
        print(message, file=sys.stderr)
    return int(bool(wrong))


def _packet(args: argparse.Namespace, name: str):
    """Configuration for a tensor, and its words, as many as are asked for."""
    tensor = load_tensor(name)
    config = config_from(args, tensor.itemsize * 8)
    from cdma.golden.zvc.words import format_for, to_words

    with refusals_as_user_errors():
        format_for(tensor.dtype, config.format)
    words = to_words(tensor)[: args.words]
    if not words.size:
        raise UserError(f"{name}: is empty, expected at least one word")
    return config, words


def _record(unit: str, config, words, library, steps) -> dict:
    from cdma.synth.flow import asic, measure
    from cdma.synth.power import energy

    design = measure.generated(unit, config)
    flow = (steps, design.label, design.top)
    mapped = asic.synthesise(*flow, design.verilog, library, "abc")
    announce(f"{design.label}: netlist in Icarus Verilog", steps.seconds)
    figures = energy.measure(mapped, unit, config, words, library, steps.folder)
    try:
        period = asic.critical_path(*flow, mapped, library, "abc").period_ns
    except UserError as error:
        print(f"{error}; power left out", file=sys.stderr)
    else:
        figures |= energy.at_clock(figures, period)
    density = int((words != 0).sum()) / words.size
    return {"config": config.name, "library": library.name, "density": density, **figures}


def table(records: list[dict], style: str = "text") -> str:
    """Lay out energies and powers; two numbers are without and with glitches."""
    rows = []
    for record in records:
        settled, glitches = record["settled"], record["with_glitches"]
        row = {
            "unit": record["unit"],
            "config": record["config"],
            "tensor": record["tensor"],
            "non-zero": f"{record['density']:.0%}",
            "pJ/byte": f"{settled['pj_per_byte']:.2f} .. {glitches['pj_per_byte']:.2f}",
            "clock, storage, logic": ", ".join(
                f"{settled[part]:.0%}" for part in ("clock", "storage", "logic")
            ),
        }
        if "mhz" in record:
            row |= {
                "MHz": f"{record['mhz']:.0f}",
                "mW": f"{record['settled_mw']:.1f} .. {record['with_glitches_mw']:.1f}",
                "idle mW": f"{record['idle_mw']:.1f}",
                "leakage mW": f"{record['leakage_mw']:.2f}",
            }
        rows.append(row)
    headings = list(dict.fromkeys(key for row in rows for key in row))
    return format_table(rows, headings, style)


def announce(label: str, seconds: float) -> None:
    """Tell on stderr what is being done."""
    print(f"[{seconds:7.1f} s] {label}", file=sys.stderr, flush=True)
