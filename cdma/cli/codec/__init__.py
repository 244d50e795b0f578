"""The verbs of the golden codec: ``compress``, ``decompress``, ``info`` and ``convert``."""

from cdma.cli.codec import convert, verbs


def add_parser(subparsers) -> None:
    """Add the four verbs."""
    verbs.add_parser(subparsers)
    convert.add_parser(subparsers)
