"""The tensor of a verb, and the type of its elements."""

import argparse

from cdma.tensors.load import NAMING


def add_tensor_options(parser: argparse.ArgumentParser) -> None:
    """Add the tensor, and ``--dtype``."""
    parser.add_argument("tensor", metavar="FILE", help=NAMING)
    add_dtype_option(parser)


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
    from cdma.tensors.codec.elements import typed
    from cdma.tensors.load import load_tensor
    from cdma.tensors.rows import TYPE_OF, type_of

    tensor, _ = typed(load_tensor(args.tensor), args.dtype)
    # Without ml_dtypes, elements of bfloat16 are unsigned words.
    return tensor, TYPE_OF.get(args.dtype) or type_of(tensor.dtype)
