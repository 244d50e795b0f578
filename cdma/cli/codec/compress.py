"""``cdma compress``: a tensor into a container or a bare stream."""

import argparse
import json
import sys

from cdma.cli.codec.shared import PLUS, add_codec_verb, add_plus_options, refuse_json_on_stdout
from cdma.cli.codec.undo import undo
from cdma.cli.options import add_dtype_option, add_format_options, add_zero_options, zeros_from
from cdma.files import STDIO
from cdma.tables import counted
from cdma.tensors.load import NAMING

EPILOG = """\
A container (.zvc) holds type and shape of its array. A raw stream (--raw) is what the hardware
emits; to decompress it you need type and shape. IN may be - for an .npy file on stdin, OUT may be -
for stdout.

--lossy keeps floating-point elements within an error bound EB: |x - decompressed| <= EB for each.
rel=R is R times the standard deviation of the finite non-zero elements. Zeros stay zeros; NaNs,
infinities and what rounding would move out of the bound are stored bit for bit.

--codec zvcplus compresses float32, float16, bfloat16 and int8 further than the zero-value codec.
With --repeats left a word can also repeat the one before it, with above the one a row above.

example:
  cdma compress relu1.npy -o relu1.zvc
  cdma compress pool1.npy -o pool1.zvc --codec zvcplus --repeats above
  cdma compress relu1.npy -o relu1.zvc --lossy abs=0.01
  cdma compress tensors.npz:relu1 -o relu1.bin --raw
  cdma compress model.safetensors:conv1.weight -o conv1.zvc
  producer | cdma compress - -o - | consumer
"""

_PASSED = ("word_bits", "block_words", "tail", "dtype", "lossy", "codec")


def add_parser(subparsers) -> None:
    """Add the verb ``compress``."""
    parser = add_codec_verb(subparsers, "compress", run, "compress a tensor", EPILOG)
    parser.add_argument("input", metavar="IN", help=f"tensor: {NAMING}")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="file to write")
    parser.add_argument("--raw", action="store_true", help="write the bare stream, no container")
    help_ = "error bound: compress with the lossy codec, which quantises (float16 to float64)"
    parser.add_argument("--lossy", metavar="abs=EB|rel=R", help=help_)
    add_plus_options(parser)
    add_format_options(parser, default="the size of an element, and nothing else fits")
    add_zero_options(parser)
    add_dtype_option(parser)


def run(args: argparse.Namespace) -> int:
    """Write the container, or the bare stream."""
    from cdma.tensors.codec.compress import compress_tensor
    from cdma.tensors.codec.figures import by, codec_line, lossy_line

    refuse_json_on_stdout(args)
    facts = compress_tensor(
        args.input,
        args.output,
        is_raw=args.raw,
        **zeros_from(args),
        **{name: getattr(args, name) for name in (*_PASSED, *PLUS)},
    )
    if args.json:
        print(json.dumps(facts, indent=2))
        return 0
    stored = facts["stream_bytes"] + facts.get("outlier_bytes", 0)
    lines = [
        f"wrote {args.output}: {facts['dtype']} {by(facts['shape'])}, "
        f"{counted(facts['raw_bytes'], 'byte')} to {stored:,} "
        f"(ratio {facts['ratio']:.3f}, density {facts['density']:.1%})"
    ]
    if args.lossy or args.codec == "zvcplus":
        lines.append((lossy_line if args.lossy else codec_line)(facts))
    lines += [f"note: {note}" for note in facts["notes"]]
    if args.raw:
        lines.append(f"undo with: {undo(args, facts)}")
    print("\n".join(lines), file=sys.stderr if args.output == STDIO else sys.stdout)
    return 0
