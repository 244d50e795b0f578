"""The verbs of the golden codec: ``compress``, ``decompress``, ``info`` and ``convert``."""

from cdma.cli.codec import compress, convert, decompress, info


def add_parser(subparsers) -> None:
    """Add the four verbs."""
    for verb in (compress, decompress, info, convert):
        verb.add_parser(subparsers)
