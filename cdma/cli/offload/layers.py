"""``cdma offload layers``: a network's layers and their times."""

import argparse

from cdma.cli import options
from cdma.cli.offload.rows import add_output_options, written

EPILOG = """\
The file of --csv can be edited and given to the other commands as --times. They scale its times
from the batch in its column batch to their own, and refuse those of another board. For times of
another GPU, leave the column board out.

example:
  cdma offload layers vgg-d --csv layers.csv
"""
HELP = "layers of a network and their modelled times"


def add_parser(commands) -> None:
    """Add the command ``layers``."""
    parser = options.add_verb(commands, "layers", run, HELP, epilog=EPILOG)
    parser.add_argument("network", metavar="NETWORK", help="or model.onnx; a wrong name lists all")
    parser.add_argument("--batch", type=options.positive, metavar="N", help="images")
    parser.add_argument("--board", choices=("titan-x", "titan-xp"), default="titan-x", help="GPU")
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """List the layers."""
    from cdma.offload import output
    from cdma.offload.compute import BOARDS, times_of
    from cdma.offload.networks.zoo import network
    from cdma.offload.times import layer_rows

    net = network(args.network)
    batch = args.batch or net.batch
    times = times_of(net.features, batch, BOARDS[args.board])
    found = layer_rows(net.features, batch, times, args.board)
    if not written(args, found, network=net.name, batch=batch, source=net.source):
        print(output.as_table(found, {key: key for key in found[0]}))
    return 0
