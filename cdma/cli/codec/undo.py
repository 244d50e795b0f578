"""The command that decompresses a bare stream."""

import argparse
import shlex

from cdma.cli.options.shapes import SCALAR


def undo(args: argparse.Namespace, facts: dict) -> str:
    """The command for the stream that ``cdma compress --raw`` wrote with these arguments.

    Parameters
    ----------
    args : argparse.Namespace
        Arguments of ``cdma compress``.
    facts : dict
        What :func:`cdma.tensors.codec.compress.compress_tensor` returned.
    """
    name = f"./{args.output}" if args.output.startswith("-") else args.output
    words = [f"cdma decompress {shlex.quote(name)} --raw --count {facts['words']}"]
    words.append(f"--word-bits {facts['word_bits']} --block-words {facts['block_words']}")
    if args.tail:
        words.append(f"--tail {args.tail}")
    if args.zero_value:
        words.append(f"--zero-value {args.zero_value:#x}")
    if args.fold_negative_zero:
        words.append("--fold-negative-zero")
    words.append(f"--dtype {facts['dtype']}")
    if len(facts["shape"]) != 1:
        words.append(f"--shape {','.join(map(str, facts['shape'])) or SCALAR}")
    return " ".join([*words, "-o OUT.npy"])
