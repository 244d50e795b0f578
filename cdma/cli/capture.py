"""``cdma capture``: real activations, of a small built-in network or of your PyTorch model."""

import argparse
import json

from cdma.cli import options
from cdma.errors import UserError

STEPS = (0, 20, 100, 500)

EPILOG = """\
Trains a network of two convolutions and two dense layers on the digits of scikit-learn (8 x 8
pixels, four fifths for training). It saves the outputs of ReLU and pooling for 64 test images as
float32, NCHW or NC, and copies of two layers as float16, int8 or float64: 2.4 MB by default. The
same seed on the same machine gives the same files. capture.json lists them with shape, density and
the accuracy on the other fifth. An earlier capture in the folder is replaced.

With --torch it calls your function, which trains your PyTorch model, and records every output of
ReLU and pooling, as modules or as functions. The function gets an object to put around the forward
pass of each training step, and may note numbers of that step:

  def train(capture):
      ...
      for images, labels in batches:
          with capture(model):
              scores = model(images)
          loss = ...
          capture.note(loss=loss)
          ...

Density is measured on whole batches, at up to 1000 steps. Tensors are saved at as many steps as
--budget allows, of large batches only the first images. Steps are close together at first and then
further apart, because density changes most at first. Code that torch.compile or TorchScript has
compiled is not recorded.

example:
  cdma capture -o activations
  cdma compress activations/step0500.relu2.npy -o relu2.zvc
  cdma capture --torch examples/digits_torch.py:train -o digits --budget 16M --figures
"""
DESCRIPTION = "Train a small ReLU network for a few seconds and save its activations at several \
stages of training."


def add_parser(subparsers) -> None:
    """Add the verb ``capture``."""
    texts = {"description": DESCRIPTION, "epilog": EPILOG}
    help_ = "train a small network and save its activations"
    parser = options.add_verb(subparsers, "capture", run, help_, **texts)
    add = parser.add_argument
    options.add_folder_option(parser)
    steps = "steps of training after which to save, rising; 0 is before training "
    steps += f"(default: {','.join(map(str, STEPS))})"
    add("--steps", type=options.rising, metavar="N,N", help=steps)
    seed = "seed of weights, batches and split (default: 0)"
    add("--seed", type=options.natural, default=0, metavar="N", help=seed)
    own = parser.add_argument_group("your own models").add_argument
    function = "function that trains a PyTorch model; also FILE.py:FUNCTION"
    own("--torch", metavar="MODULE:FUNCTION", help=function)
    budget = "bytes of tensors to save, such as 500M (default: 64M)"
    own("--budget", type=options.size, metavar="BYTES", help=budget)
    own("--figures", action="store_true", help="also draw density over training, SVG and PNG")
    add("--json", action="store_true", help="print capture.json")


def run(args: argparse.Namespace) -> int:
    """Train, save, report."""
    from cdma.tensors.capture import digits, torch

    if args.torch is None and (args.budget is not None or args.figures):
        raise UserError("--budget and --figures need --torch")
    if args.torch is not None and args.steps is not None:
        raise UserError("--steps cannot be used with --torch: the function defines the steps")
    if args.torch is None:
        source, report = digits, digits.run(args.output, args.steps or STEPS, args.seed)
    else:
        source, budget = torch, args.budget or torch.BUDGET
        report = torch.run(args.torch, args.output, budget, args.seed, args.figures)
    print(json.dumps(report, indent=2) if args.json else source.summary(args.output, report))
    return 0
