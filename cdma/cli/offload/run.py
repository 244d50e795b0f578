"""``cdma offload run``: the systems side by side on one network."""

import argparse
from functools import partial

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.cli.offload.rows import add_output_options, draw, written

EPILOG = """\
Times are those of the feature layers, as in the published systems. Peak memory is weights,
gradients, momentum and activations, without workspaces. Ratios of real tensors come from the golden
codec: a folder of cdma capture, or one with a manifest.json. With --ratio alone, only zero-value
compression is shown. --lossy grad=D takes the relative error bound at which the gradient of a small
network deviates by D (docs/torch.md).

example:
  cdma capture -o activations
  cdma offload run vgg-d --densities activations
  cdma offload run alexnet --ratio 2.6 --scheme vdnn-all --scheme cdma-zv --scheme async
"""
HELP = "step time, link bytes and memory of every system"


def add_parser(commands) -> None:
    """Add the command ``run``."""
    parser = options.add_verb(commands, "run", run, HELP, epilog=EPILOG)
    shared.add_setup_options(parser)
    one = "system to show; may be repeated (default: all)"
    parser.add_argument("--scheme", action="append", metavar="NAME", help=one)
    text = "pJ of a byte in device memory, link and host memory: adds the energy of the copies"
    parser.add_argument("--energy", metavar="D,L,H", type=_prices, help=text)
    add_output_options(parser, figures=True)


def _prices(text: str) -> tuple[float, ...]:
    found = tuple(map(options.above_zero, text.split(",")))
    if len(found) != 3:
        raise argparse.ArgumentTypeError(f"must be three numbers with commas, not {text!r}")
    return found


def run(args: argparse.Namespace) -> int:
    """Compute and print."""
    setup = shared.setup_from(args)
    from cdma.offload import output
    from cdma.offload.schemes.registry import results, rows_of

    every = list(results(setup, args.scheme))
    found = rows_of(setup, every)
    columns = dict(output.SCHEME_COLUMNS)
    if args.energy is not None:
        from cdma.offload.answers import energy

        prices = energy.Prices(*args.energy, energy.codec_price(args.lanes))
        for row, each in zip(found, every, strict=True):
            row["energy_mj"] = energy.millijoules(each, prices)
        columns["energy_mj"] = "copies, mJ"
    if args.figures is not None:
        from cdma.offload.pictures import schemes

        label = f"{setup.network.title}, batch {setup.batch}"
        pictures = {"steps": schemes.steps, "pareto": schemes.pareto}
        draw(args, {k: partial(v, results=every, label=label) for k, v in pictures.items()})
    about = {"network": setup.network.name, "batch": setup.batch, "board": setup.board.name}
    about |= {"times": args.times} if args.times else {}
    about |= {"link_gb_per_s": setup.link.effective / 1e9, "codec": setup.codec.source}
    if written(args, found, **about):
        return 0
    times = f"times of {args.times}, " if args.times else ""
    print(
        f"{setup.network.title}, batch {setup.batch}, {setup.board.name}, {times}"
        f"link {about['link_gb_per_s']:g} GB/s, engine: {setup.codec.source}"
    )
    print(output.as_table(found, columns))
    return 0
