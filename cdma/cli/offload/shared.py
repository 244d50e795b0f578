"""Options of the model, and the setup that they describe."""

import argparse
import math
from dataclasses import fields

from cdma.cli import options
from cdma.cli.offload.densities import add_densities_option, files_from, say_left_out
from cdma.errors import UserError


def add_setup_options(parser: argparse.ArgumentParser) -> None:
    """Add what describes the network, the machine, the engine and the tensors."""
    add = parser.add_argument
    add("network", metavar="NETWORK", help="such as vgg-d, or model.onnx; a wrong name lists all")
    add("--batch", type=options.positive, metavar="N", help="images (default: the network's)")
    boards = ("titan-x", "titan-xp")
    add("--board", choices=boards, default=boards[0], help="GPU that is modelled")
    times = "CSV of layer, fwd_ms, bwd_ms in place of the model, scaled to the run's batch from "
    times += "that of its column batch (see cdma offload layers --csv)"
    add("--times", metavar="FILE", help=times)
    faster = "divide all times by X"
    add("--compute", type=options.above_zero, default=1.0, metavar="X", help=faster)
    link = "effective bandwidth of the link in GB/s, each way (default: 12.8)"
    add("--link", type=options.above_zero, metavar="GB/S", help=link)
    add("--share", type=options.positive, default=1, metavar="N", help="GPUs that share the link")
    host = "this GPU's share of the host memory's bandwidth in GB/s (default: no limit)"
    add("--host", type=options.above_zero, default=math.inf, metavar="GB/S", help=host)
    dram = "bandwidth of the device memory in GB/s: a layer takes at least the time of its own "
    dram += "bytes and of those that are copied beside it (default: the board's)"
    add("--dram", type=options.above_zero, metavar="GB/S", help=dram)
    add("--channels", type=int, default=4, metavar="N", help="of the engine (default: 4)")
    add("--lanes", type=int, default=8, metavar="N", help="words in a beat (default: 8)")
    codec = "raw bytes per second of the engine in GB/s (default: as measured for its size)"
    add("--codec", type=options.above_zero, metavar="GB/S", help=codec)
    other = "on the link besides"
    add("--other-traffic", type=options.above_zero, default=0.0, metavar="GB/S", help=other)
    lossy = "abs=EB, rel=R or grad=D: adds COMET with the lossy codec on the tensors"
    add("--lossy", metavar="KIND=X", help=lossy)
    ratio = "adds COMET with this ratio"
    add("--lossy-ratio", type=options.above_zero, metavar="R", help=ratio)
    cpu = "rate of a codec on the CPU in GB/s, which adds the row vDNN++"
    add("--cpu-codec", type=options.above_zero, metavar="GB/S", help=cpu)
    add("--ratio", type=options.above_zero, metavar="R", help="one ratio for all sparse tensors")
    add_densities_option(parser, "file or folder of tensors that gives the ratios")


def wishes_from(args: argparse.Namespace):
    """``Wishes`` that the options describe."""
    from cdma.offload.builder import Wishes

    names = {field.name for field in fields(Wishes)} - {"densities", "everything"}
    given = {name: getattr(args, name) for name in names}
    return Wishes(**given, densities=tuple(_densities(args)))


def setup_from(args: argparse.Namespace):
    """``Setup`` that the options describe."""
    from cdma.offload.builder import build
    from cdma.offload.networks.zoo import network

    network(args.network)  # its name is checked before the ratios
    return build(wishes_from(args))


def _densities(args: argparse.Namespace) -> list[str]:
    if args.ratio is not None and args.densities:
        raise UserError("--ratio and --densities are two ways to give the ratios: leave one out")
    if args.ratio is not None:
        return []
    found = files_from(args)
    if not found:
        raise UserError("compression ratios are missing: give --densities FOLDER or --ratio R")
    from cdma.offload.profiles import left_out

    say_left_out(args, left_out(found, args.network))
    return found
