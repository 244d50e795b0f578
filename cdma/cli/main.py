"""The command ``cdma``: one module a verb, one place for how a run ends."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence

import cdma
from cdma.cli import (
    analyze,
    bench,
    capture,
    codec,
    cosim,
    coverage,
    demo,
    formal,
    fuzz,
    generate,
    lint,
    mutate,
    offload,
    power,
    study,
    synth,
)
from cdma.cli.overwrites import refuse_overwrites
from cdma.errors import MissingPackageError, SimulationError, UserError
from cdma.signals import Terminated, install, received

#: Modules in the order of the help; each adds its verbs and the function that runs them.
VERBS = (
    generate,
    codec,
    capture,
    analyze,
    study,
    offload,
    cosim,
    fuzz,
    coverage,
    mutate,
    formal,
    lint,
    synth,
    power,
    bench,
    demo,
)

EPILOG = """\
exit status: 0 success, 1 a comparison failed, 2 wrong input or a missing tool,
3 a fault of cdma itself; with --json an error is also printed as JSON: {"error": {...}}

example:
  cdma capture -o activations
  cdma compress activations/step0000.pool1.npy -o pool1.zvc
  cdma info pool1.zvc
"""


class _UsageError(Exception):
    """Mistake in the options: the command, and what is wrong."""


class Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line, like the rest of this command."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message):
        raise _UsageError(self.prog, f"{message} (see {self.prog} --help)")


def build_parser() -> argparse.ArgumentParser:
    """Parser of the whole command; its namespace has the verb's function as ``run``."""
    parser = Parser(
        prog="cdma",
        description="Compressing DMA engine: zero-value compression in software and hardware.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"cdma {cdma.__version__}")
    subparsers = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for module in VERBS:
        module.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments ``argv`` and give its exit status.

    0: fine; 1: a comparison failed; 2: a mistake in the input or a missing tool, in one line on
    stderr; 3: a fault of this program, with its traceback; 130: interrupted; 143: terminated;
    141: the reader of stdout has closed it. With ``--json`` errors are printed on stdout too, as
    JSON.
    """
    try:
        args, unknown = build_parser().parse_known_args(argv)
        if unknown:
            text = f"unrecognized arguments: {' '.join(unknown)} (see {args.prog} --help)"
            return _complain(args, text, label=f"{args.prog}: ")
    except _UsageError as mistake:
        words = sys.argv[1:] if argv is None else argv
        verb = next((word for word in words if not word.startswith("-")), "")
        known = argparse.Namespace(verb=verb, json="--json" in words)
        return _complain(known, mistake.args[1], label=f"{mistake.args[0]}: ")
    except SystemExit as exit_:  # how argparse ends after --help and --version
        return exit_.code or 0
    try:
        return _run(args)
    except BrokenPipeError:
        _silence_stdout()
        return 141
    except Terminated:
        return _complain(args, "terminated", 143)
    except KeyboardInterrupt:
        return _complain(args, "interrupted", 130)
    except MissingPackageError as error:
        return _complain(args, error, label="")
    except UserError as error:
        return _complain(args, error)
    except SimulationError as error:
        return _complain(args, error, 1)
    except MemoryError as error:
        return _complain(args, f"not enough memory: {error}")
    except OSError as error:
        if error.filename is None:  # stdout on a full disk, for one
            _silence_stdout()
            return _complain(args, error.strerror or error)
        return _complain(args, f"{error.filename}: {error.strerror}")
    except Exception as error:
        from cdma.golden import StreamError  # imports NumPy, which --help has no use for

        if isinstance(error, StreamError):
            return _complain(args, error)
        traceback.print_exc()
        return _complain(args, f"a fault of cdma, please report it: {error!r}", 3)


def _run(args) -> int:
    try:
        refuse_overwrites(args)
        status = args.run(args)
        sys.stdout.flush()  # here, where a reader that has gone can still be answered
        return status
    except Exception:
        # Compiled code may turn a signal into an error: NumPy's does while it is imported.
        if signal := received():
            raise signal from None
        raise


def entry() -> None:
    """Console script."""
    # A file's name may hold what the terminal's encoding lacks.
    sys.stdout.reconfigure(errors="backslashreplace")
    install()
    sys.exit(main())


def _complain(args, message, status: int = 2, label: str | None = None) -> int:
    message = str(message)
    if status != 1:  # what a tool says of a design keeps its lines
        message = " ".join(message.splitlines())
    label = f"cdma {args.verb}: " if label is None else label
    print(f"{label}{message}", file=sys.stderr)
    if getattr(args, "json", False):
        error = {"verb": args.verb, "status": status, "message": message}
        print(json.dumps({"error": error}, indent=2))
    return status


def _silence_stdout() -> None:
    # The interpreter flushes once more at its end, and would complain there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
