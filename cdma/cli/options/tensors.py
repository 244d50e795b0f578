"""The tensor of a verb, and the type of its elements."""

import argparse
import os

from cdma.errors import refusals_as_user_errors
from cdma.tensors.load import NAMING


def add_tensor_options(parser: argparse.ArgumentParser) -> None:
    """Add the tensor, and ``--dtype``."""
    parser.add_argument("tensor", metavar="FILE", help=NAMING)
    add_dtype_option(parser)


def sample_folder() -> list[str]:
    """The folder that ``CDMA_DATA`` names, in a list; empty where it is empty or not set."""
    return [name for name in [os.environ.get("CDMA_DATA")] if name]


def add_dtype_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--dtype``."""
    help_ = "NumPy type that the elements are, where the file has no name for it, such as bfloat16"
    parser.add_argument("--dtype", metavar="TYPE", help=help_)


def tensor_from(args: argparse.Namespace):
    """The tensor, and the ZVC+ type of its elements.

    Raises
    ------
    UserError
        When the tensor cannot be read, or ``--dtype`` is no type of its size.
    """
    from cdma.tensors.codec.elements import element_name, typed
    from cdma.tensors.load import load_tensor
    from cdma.tensors.rows import type_of

    tensor, _ = typed(load_tensor(args.tensor), args.dtype)
    return tensor, type_of(element_name(tensor, args.dtype))


def words_of(tensor, fmt, dtype: str | None):
    """Words of a tensor for a unit of a format; ``dtype`` is that of ``--dtype``.

    Raises
    ------
    UserError
        When the elements are no words of the format, or are not floating point and the unit folds
        ``-0.0``.
    """
    from cdma.golden.codecs import codec_of
    from cdma.golden.zvc.fold import check_fold

    with refusals_as_user_errors():
        check_fold(tensor.dtype, fmt, dtype)
        return codec_of(fmt).words_of(tensor, fmt)
