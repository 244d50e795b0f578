"""The frame of the command: help, exit statuses, what goes where."""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import cdma
from cdma.cli.codec import info
from cdma.cli.main import main
from cdma.errors import MissingPackageError, UserError
from cdma.golden import ErrorCode, StreamError, write_container

HEAVY = ("numpy", "amaranth", "cocotb", "sklearn", "matplotlib")


def python(*argv, **options):
    """Run the interpreter as a child, with its output as text."""
    return subprocess.run([sys.executable, *argv], capture_output=True, text=True, **options)


@pytest.fixture
def container(tmp_path):
    path = tmp_path / "a.zvc"
    write_container(path, np.arange(100, dtype="f4"))
    return path


@pytest.fixture
def raising(monkeypatch, refuse):
    """Run a verb that raises ``error``; give its one line on stderr."""

    def call(error) -> str:
        def run(args):
            raise error

        monkeypatch.setattr(info, "run", run)
        return refuse("info", "a.zvc")

    return call


def test_as_a_module(container):
    done = python("-m", "cdma", "info", str(container))
    assert done.returncode == 0
    assert "float32 100, 100 words" in done.stdout
    assert done.stderr == ""


def test_the_users_mistake_as_a_module(tmp_path):
    done = python("-m", "cdma", "info", str(tmp_path / "no.zvc"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"cdma info: {tmp_path}/no.zvc: No such file or directory\n"


def test_help_lists_every_verb_and_loads_nothing_heavy():
    code = f"""
import sys
from cdma.cli.main import main
assert main(["--help"]) == 0
heavy = [name for name in {HEAVY} if name in sys.modules]
sys.exit(f"loaded {{heavy}}" if heavy else 0)
"""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    verbs = ["generate", "compress", "decompress", "info", "capture", "cosim", "bench", "demo"]
    for verb in verbs:
        assert f"\n    {verb}" in done.stdout
    assert "example:\n  cdma capture" in done.stdout


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"cdma {cdma.__version__}\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "cdma: the following arguments are required: VERB (see cdma --help)"),
        (("nothing",), "cdma: argument VERB: invalid choice: 'nothing' "),
        (("info",), "cdma info: the following arguments are required: FILE.zvc "),
        (
            ("info", "a.zvc", "--js"),
            "cdma info: unrecognized arguments: --js (see cdma info --help)",
        ),
        (("study", "--x"), "cdma study: unrecognized arguments: --x (see cdma study --help)"),
        (
            ("offload", "run", "alexnet", "extra"),
            "cdma offload run: unrecognized arguments: extra (see cdma offload run --help)",
        ),
        (
            ("compress", "a.npy", "-o", "b", "--word-bits", "x"),
            "cdma compress: argument --word-bits: invalid int value: 'x' "
            "(see cdma compress --help)",
        ),
    ],
)
def test_mistakes_in_the_arguments(refuse, argv, message):
    assert refuse(*argv).startswith(message)


def test_mistakes_in_the_arguments_as_json(capsys):
    assert main(["info", "--json"]) == 2
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert (error["verb"], error["status"]) == ("info", 2)
    assert err == f"cdma info: {error['message']}\n"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("a: is not b\nat all"), "cdma info: a: is not b at all"),
        (StreamError("why", 4, ErrorCode.TRAILING), "cdma info: Byte 4: why"),
        (FileNotFoundError(2, "No such file", "a"), "cdma info: a: No such file"),
        (PermissionError(13, "Permission denied", "a"), "cdma info: a: Permission denied"),
        (MemoryError("1 TiB"), "cdma info: not enough memory: 1 TiB"),
        (
            MissingPackageError("cdma info needs x: pip install y"),
            "cdma info needs x: pip install y",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_that_the_user_can_mend(raising, error, line):
    assert raising(error) == line


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, AssertionError])
def test_faults_of_the_program_have_a_traceback_and_a_status(monkeypatch, capsys, error):
    def run(args):
        raise error("a fault")

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "a.zvc", "--json"]) == 3
    out, err = capsys.readouterr()
    assert err.startswith("Traceback ")
    assert err.splitlines()[-1].startswith("cdma info: a fault of cdma, please report it: ")
    assert json.loads(out)["error"]["status"] == 3


def test_the_verbs_status_is_the_commands(monkeypatch):
    monkeypatch.setattr(info, "run", lambda args: 1)
    assert main(["info", "a.zvc"]) == 1


def test_interrupted(monkeypatch, capsys):
    def run(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "run", run)
    assert main(["info", "a.zvc"]) == 130
    assert capsys.readouterr() == ("", "cdma info: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_compiled_code_turns_into_an_error(number):
    script = f"""
import os
from cdma.cli.codec import info
from cdma.cli.main import entry

def run(args):
    try:
        os.kill(os.getpid(), {number:d})
    except KeyboardInterrupt:
        raise ImportError("cannot load module")

info.run = run
entry()
"""
    # A shell starts what runs in the background with Ctrl-C ignored, and that is inherited.
    reset = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    done = python("-c", script, "info", "a.zvc", preexec_fn=reset)
    word = {signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}[number]
    assert (done.returncode, done.stderr) == (128 + number, f"cdma info: {word}\n")


def test_a_reader_that_has_gone(container):
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-m", "cdma", "info", str(container)]
    done = subprocess.run(argv, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is a device of Linux")
def test_a_full_disk_under_stdout(container):
    with open("/dev/full", "wb") as full:
        argv = [sys.executable, "-m", "cdma", "info", str(container)]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "cdma info: No space left on device\n"


def test_a_name_that_the_terminal_cannot_show(container):
    name = container.with_name("\N{GREEK SMALL LETTER ALPHA}.zvc")
    container.rename(name)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0"}
    done = python("-m", "cdma", "info", str(name), env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\u03b1.zvc" in done.stdout
