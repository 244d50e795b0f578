"""Options that several verbs share, and the objects that they describe."""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from cdma.errors import UserError, refusals_as_user_errors

#: What is generated. Named here too, so that ``--help`` loads no Amaranth.
UNITS = ("compressor", "decompressor")


def add_verb(
    subparsers, name: str, run: Callable[[argparse.Namespace], int], help_: str, **texts: str
) -> argparse.ArgumentParser:
    """Add a verb that ``run`` runs; ``texts`` are ``description`` and ``epilog``."""
    style = argparse.RawDescriptionHelpFormatter
    parser = subparsers.add_parser(name, help=help_, formatter_class=style, **texts)
    parser.set_defaults(run=run)
    return parser


def add_design_options(parser: argparse.ArgumentParser, waves: str) -> None:
    """Add ``--verilog``, and ``--waves``, of which ``waves`` says what is written."""
    parser.add_argument(
        "--verilog",
        type=Path,
        metavar="FILE",
        help="simulate this file, an edited or foreign unit, in place of the generated Verilog: it "
        "has the module cdma_UNIT, for a roundtrip both",
    )
    parser.add_argument("--waves", type=Path, metavar="OUT.fst", help=f"{waves} (.fst or .vcd)")


def natural(text: str) -> int:
    """Type of an option: an integer, zero or more."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be an integer, zero or more, not {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Type of an option: an integer of at least 1."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not {text!r}")
    return int(text)


def size(text: str) -> int:
    """Type of an option: bytes, 1 or more, such as 500M."""
    units = {"K": 10, "M": 20, "G": 30}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "")
    bytes_ = natural(number) << units.get(unit, 0)
    if not bytes_:
        raise argparse.ArgumentTypeError("must be a byte or more")
    return bytes_


def rising(text: str) -> tuple[int, ...]:
    """Type of an option: integers with commas between, zero or more, each above the last."""
    numbers = tuple(map(natural, text.split(",")))
    if list(numbers) != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(f"must rise, not {text!r}")
    return numbers


def refuse_below(args: argparse.Namespace, **least: int) -> None:
    """Refuse an option that is below its least value; ``None``, not given, is none."""
    for name, limit in least.items():
        value = getattr(args, name)
        if value is not None and value < limit:
            raise UserError(f"--{name} must be {limit} or more, not {value}")


def add_sweep_options(
    parser: argparse.ArgumentParser, jobs: int | None = None, what: str = "processes"
) -> None:
    """Add ``--jobs``, which is ``jobs`` or the number of processors, and ``--scheduler``."""
    parser.add_argument(
        "--jobs",
        type=positive,
        default=jobs or os.cpu_count() or 1,
        metavar="N",
        help=f"{what} (default: {jobs or 'the number of processors'})",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"run on a Dask cluster, such as tcp://10.0.0.1:8786, in place of {what} here",
    )


def add_liberty_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--liberty``."""
    library = "cell library, .lib or .lib.gz (default: $CDMA_LIBERTY, a file or a folder)"
    parser.add_argument("--liberty", metavar="FILE", help=library)


def liberty_path(args: argparse.Namespace) -> str | None:
    """File or folder that ``--liberty`` or ``CDMA_LIBERTY`` names; ``None`` without both."""
    return args.liberty or os.environ.get("CDMA_LIBERTY") or None


def add_folder_option(parser: argparse.ArgumentParser, what: str, default: str) -> None:
    """Add ``--output``, the folder of ``what``."""
    folder = f"folder of the {what}, made if missing (default: {default})"
    parser.add_argument("-o", "--output", default=default, metavar="DIR", help=folder)


def add_cache_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--cache``."""
    kept = "folder of kept results (default: $CDMA_CACHE, or your cache folder)"
    parser.add_argument("--cache", metavar="DIR", help=kept)


def announce(label: str, seconds: float) -> None:
    """Tell on stderr what begins, and how many seconds after the start."""
    print(f"[{seconds:7.1f} s] {label}", file=sys.stderr, flush=True)


def add_units_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--unit``, for verbs that do both where none is named."""
    parser.add_argument(
        "--unit", choices=UNITS, action="append", help="which unit, may be repeated (default: both)"
    )


def units_from(args: argparse.Namespace) -> list[str]:
    """Units that ``--unit`` names, each once."""
    return list(dict.fromkeys(args.unit or UNITS))


def add_format_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--word-bits`` and ``--block-words``; ``default`` is how the help calls the default."""
    parser.add_argument(
        "--word-bits",
        type=int,
        metavar="N",
        help=f"bits in a word: 8, 16, 32 or 64 (default: {default})",
    )
    parser.add_argument(
        "--block-words",
        type=int,
        metavar="N",
        help="words under one mask, a multiple of the word width (default: 128, 64, 32 or 64 words "
        "of 8, 16, 32 or 64 bits)",
    )


def add_config_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--config``, and the options that give the same in numbers."""
    parser.add_argument(
        "--config",
        metavar="NAME",
        help="lanes x word bits, such as 8x32, or 8x32b64 with blocks of 64 words; instead of the "
        "three options below",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        metavar="N",
        help="words in a beat: a power of two, 2 to 64 (default: 8)",
    )
    add_format_options(parser, default)


def format_from(args: argparse.Namespace, word_bits: int = 32):
    """``Format`` that the options describe; ``word_bits`` replaces an option not given."""
    from cdma.golden import Format

    given = word_bits if args.word_bits is None else args.word_bits
    with refusals_as_user_errors():
        return Format(given, args.block_words)


def config_from(args: argparse.Namespace, word_bits: int = 32):
    """``Config`` that the options describe; ``word_bits`` replaces an option not given.

    Raises
    ------
    UserError
        When the size is refused, or ``--config`` is given beside the numbers.
    """
    from cdma.hdl.zvc.config import Config

    if args.config is not None:
        for option in ("lanes", "word_bits", "block_words"):
            if getattr(args, option) is not None:
                raise UserError(f"--config names the whole size: leave out {flag(option)}")
        return config_named(args.config)
    fmt = format_from(args, word_bits)
    with refusals_as_user_errors():
        return Config(8 if args.lanes is None else args.lanes, fmt)


def config_named(name: str):
    """``Config`` of a name such as ``8x32`` or ``8x32b64``."""
    from cdma.hdl.zvc.config import Config

    with refusals_as_user_errors():
        return Config.parse(name)


def flag(option: str) -> str:
    """``--word-bits`` of ``word_bits``."""
    return f"--{option.replace('_', '-')}"
