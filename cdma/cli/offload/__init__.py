"""``cdma offload``: a verb with commands of its own, one module each."""

from cdma.cli import options
from cdma.cli.offload import (
    advise,
    document,
    explain,
    layers,
    lossy,
    measure,
    run,
    sweep,
    trace,
    tune,
    validate,
)  # fmt: skip

EPILOG = """\
example:
  cdma offload run vgg-d --batch 64 --densities activations
  cdma offload run alexnet --ratio 2.6 --link 12.8
"""
COMMANDS = (run, layers, explain, advise, sweep, trace, tune, lossy, measure, validate, document)


def add_parser(subparsers) -> None:
    """Add the verb ``offload``."""
    text = "Model of layer-by-layer training whose activations are offloaded to host memory."
    parser = options.add_verb(
        subparsers, "offload", None, "model training with offloading", description=text,
        epilog=EPILOG,
    )  # fmt: skip
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for module in COMMANDS:
        module.add_parser(commands)
