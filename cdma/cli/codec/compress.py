"""``cdma compress``: a tensor into a container or a bare stream."""

import argparse
import json
import sys

from cdma.cli.codec.shared import add_codec_verb, by, dtype_of, figures, refuse_json_on_stdout
from cdma.cli.options import add_format_options, format_from
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import STDIO, reading, refuse_same, writing
from cdma.tensors.load import NAMING, load_tensor, split

EPILOG = """\
A container (.zvc) holds type and shape of its array. A raw stream (--raw) is what the hardware
emits; to decompress it you need type and shape. IN may be - for an .npy file on stdin, OUT may be -
for stdout.

example:
  cdma compress relu1.npy -o relu1.zvc
  cdma compress tensors.npz:relu1 -o relu1.bin --raw
  cdma compress model.safetensors:conv1.weight -o conv1.zvc
  producer | cdma compress - -o - | consumer
"""


def add_parser(subparsers) -> None:
    """Add the verb ``compress``."""
    parser = add_codec_verb(subparsers, "compress", run, "compress a tensor", EPILOG)
    parser.add_argument("input", metavar="IN", help=f"tensor: {NAMING}")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write")
    parser.add_argument("--raw", action="store_true", help="write the bare stream, no container")
    add_format_options(parser, default="the size of an element, and nothing else fits")
    help_ = "NumPy type that the elements are, where the file has no name for it, such as bfloat16"
    parser.add_argument("--dtype", metavar="TYPE", help=help_)


def run(args: argparse.Namespace) -> int:
    """Write the container, or the bare stream."""
    import numpy as np

    from cdma.golden import compress, write_container
    from cdma.study.commonest import Commonest, hint

    refuse_json_on_stdout(args)
    if args.input != STDIO:
        refuse_same(args.output, split(args.input)[0])
    with reading(args.input, ".npy") as source:
        array, notes = _typed(load_tensor(source), args)
        fmt = format_from(args, array.itemsize * 8)
        if fmt.word_bytes != array.itemsize:
            raise UserError(
                f"{args.input}: elements are {array.dtype}, so words have {array.itemsize * 8} "
                f"bits, not {fmt.word_bits}; leave --word-bits out"
            )
        with writing(args.output) as temporary:
            if args.raw:
                temporary.write_bytes(compress(array, fmt))
            else:
                with refusals_as_user_errors():
                    write_container(temporary, array, fmt)
            file_bytes = temporary.stat().st_size
        commonest, words = Commonest(array.itemsize), array.view(f"u{array.itemsize}").reshape(-1)
        commonest.update(words.astype(f"<u{array.itemsize}", copy=False))
        nonzeros = int(np.count_nonzero(words))
    sizes = (array.size, nonzeros, fmt.stream_bytes(array.size, nonzeros), file_bytes)
    advice = hint(commonest.finish(), nonzeros / array.size if array.size else None)
    facts = {
        "output": args.output,
        "container": not args.raw,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        **figures(fmt, *sizes),
        "notes": [*notes, *([advice] if advice else [])],
    }
    _report(args, facts)
    return 0


def _typed(array, args):
    """The array as ``--dtype`` says, and what a user should know of its type."""
    notes = []
    stored_as = (array.dtype.metadata or {}).get("stored_as")
    if args.dtype is not None:
        dtype = dtype_of(args.dtype)
        if dtype.itemsize != array.itemsize:
            raise UserError(f"--dtype {args.dtype} does not have the {array.itemsize} bytes of one")
        array = array.view(dtype.newbyteorder(array.dtype.byteorder))
    elif stored_as:
        notes.append(f"the elements, {stored_as}, are stored as {array.dtype.name}; see --dtype")
    if array.dtype.str.startswith(">"):
        notes.append("the elements, big-endian, are stored little-endian")
    return array, notes


def _report(args: argparse.Namespace, facts: dict) -> None:
    if args.json:
        print(json.dumps(facts, indent=2))
        return
    where = sys.stderr if args.output == STDIO else sys.stdout
    print(
        f"wrote {args.output}: {facts['dtype']} {by(facts['shape'])}, {facts['raw_bytes']:,} bytes "
        f"to {facts['stream_bytes']:,} (ratio {facts['ratio']:.3f}, density "
        f"{facts['density']:.1%})",
        file=where,
    )
    for note in facts["notes"]:
        print(f"note: {note}", file=where)
    if args.raw:
        shape = ",".join(map(str, facts["shape"]))
        print(
            f"undo with: cdma decompress {args.output} --raw --count {facts['words']} "
            f"--word-bits {facts['word_bits']} --block-words {facts['block_words']} --dtype "
            f"{facts['dtype']}{f' --shape {shape}' if len(facts['shape']) > 1 else ''} -o OUT.npy",
            file=where,
        )
