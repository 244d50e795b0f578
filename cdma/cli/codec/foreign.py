"""``cdma convert --to`` and ``--from``: data of other silicon."""

import argparse
import json

from cdma.cli.codec.shared import OF_A_CONTAINER, refuse_given
from cdma.cli.options import flag
from cdma.errors import UserError
from cdma.tables import counted, listed

FORMATS = ("iaa", "aie-ml", "nvdla")
#: Options of each format; their values have to come from the user.
NEEDED = {"iaa": (), "aie-ml": ("mask_order",), "nvdla": ("group_words",)}
_OPTIONS = ("mask_order", "group_words")
_OF_THE_ENGINE = ("index", "stripe_bytes", "lanes", "block_words", "raw", "codec")


def add_options(add) -> None:
    """Add the options of the formats with ``add_argument`` of a parser."""
    to = "write data of Intel IAA, of AMD AIE-ML, or weights of NVDLA (OUT.wmb, OUT.wt, OUT.wgs)"
    add("--to", choices=FORMATS, help=to)
    add("--from", choices=FORMATS, dest="origin", help="read such data, and write a container")
    order = "AIE-ML: mask bit of a chunk's first byte; its documents do not say which it is"
    add("--mask-order", choices=("lsb", "msb"), help=order)
    group = "NVDLA: elements of a kernel group, a multiple of 8"
    add("--group-words", type=int, metavar="N", help=group)


def refuse_options(args: argparse.Namespace) -> None:
    """Refuse the options of other silicon where its data is not converted."""
    refuse_given(args, _OPTIONS, "goes with --to or --from")


def run(args: argparse.Namespace) -> int:
    """Convert from or to data of other silicon."""
    from cdma.tensors.codec import foreign
    from cdma.tensors.codec.figures import by

    if args.to and args.origin:
        raise UserError("--to and --from exclude each other: one side is a .zvc file")
    name = args.to or args.origin
    refuse_given(args, _OF_THE_ENGINE, "is for the engine's data")
    for option in _OPTIONS:
        given = getattr(args, option) is not None
        if given != (option in NEEDED[name]):
            verb = "is not for" if given else "is needed for"
            raise UserError(f"{flag(option)} {verb} {name}")
    options = {option: getattr(args, option) for option in NEEDED[name]}
    if args.to:
        refuse_given(args, OF_A_CONTAINER, "is for writing a container")
        facts = foreign.write(args.input, args.output, name, **options)
    else:
        if args.dtype is None:
            raise UserError(f"{args.output}: a container needs --dtype")
        facts = foreign.read(args.input, args.output, name, args.dtype, args.shape, **options)
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    print(
        f"wrote {listed(facts['wrote'])}: {facts['dtype']} {by(facts['shape'])}, "
        f"{counted(facts['raw_bytes'], 'byte')} as an array, {facts['bytes']:,} as {name}"
    )
    return 0
