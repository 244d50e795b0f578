"""Names of the user in figures."""

from cdma.files import encoded


def plain(text: str) -> str:
    r"""Text for matplotlib that shows ``text`` as it is.

    matplotlib sets what is between two dollar signs as a formula, and fails where it is none. What
    has no UTF-8 is shown as :func:`cdma.files.encoded` writes it.
    """
    return encoded(text).decode("utf-8").replace("$", r"\$")
