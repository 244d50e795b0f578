"""After Ctrl-C or SIGTERM no temporary file and no process is left."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdma.toolchain.cache import cache_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

FOLDER = Path(__file__).parent
SCRIPT = """
import sys, signal_tasks
from cdma.cli import main
from cdma.sweep import Task, sweep

class Verb:
    def add_parser(subparsers):
        subparsers.add_parser("work").set_defaults(run=run)

def run(args):
    task = getattr(signal_tasks, sys.argv[3])
    if sys.argv[2] == "here":
        return task(sys.argv[1])
    list(sweep(task, [Task("a", sys.argv[1])], jobs=1, threads=sys.argv[2] == "thread"))

if __name__ == "__main__":
    main.VERBS = (Verb,)
    arguments, sys.argv[1:] = sys.argv[1:], ["work"]
    main.install()
    sys.argv[1:] = arguments
    sys.exit(main.main(["work"]))
"""


class Marked:
    """A program and all that it starts, found by a variable in their environment."""

    def __init__(self, command, folder):
        self._mark = f"CDMA_TEST_MARK={secrets.token_hex(8)}"
        name, _, value = self._mark.partition("=")
        environment = {**os.environ, name: value, "PYTHONPATH": str(FOLDER)}
        options = {"cwd": folder, "env": environment, "text": True, "start_new_session": True}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # A shell starts what runs in the background with Ctrl-C ignored, and that is inherited.
        options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        self.process = subprocess.Popen([sys.executable, *command], **options, **pipes)

    def alive(self):
        """Numbers of the processes that run."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                is_ours = self._mark.encode() in (folder / "environ").read_bytes().split(b"\0")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:  # it has ended
                continue
            if is_ours and state != "Z":
                found.append(int(folder.name))
        return found

    def kill(self):
        for number in self.alive():
            os.kill(number, signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def start(tmp_path):
    """Start a program; whatever is left of it in the end is killed."""
    begun = []

    def run(*command):
        begun.append(Marked(list(map(str, command)), tmp_path))
        return begun[-1]

    yield run
    for marked in begun:
        marked.kill()


def soon(condition):
    """Wait for a condition; on a busy machine that may take long."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("nothing happened")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
@pytest.mark.parametrize("where", ["here", "thread", "process"])
def test_a_tool_ends_and_files_are_removed(start, tmp_path, where, number):
    script, folder = tmp_path / "script.py", tmp_path / "folder"
    script.write_text(SCRIPT)
    folder.mkdir()
    marked = start(script, folder, where, "use_a_tool")
    soon((folder / "has-begun").exists)
    soon(lambda: len(marked.alive()) >= 3)  # the command, the program, and what it has begun
    marked.process.send_signal(number)
    _, err = marked.process.communicate(timeout=120)
    word, status = {signal.SIGTERM: ("terminated", 143), signal.SIGINT: ("interrupted", 130)}[
        number
    ]
    assert (err, marked.process.returncode) == (f"cdma work: {word}\n", status)
    soon(lambda: not marked.alive())
    assert [path.name for path in folder.iterdir()] == ["has-begun"]


@pytest.mark.parametrize("task", ["use_a_tool", "compute"])
def test_a_process_of_a_pool_cleans_up_when_its_parent_is_killed(start, tmp_path, task):
    script, folder = tmp_path / "script.py", tmp_path / "folder"
    script.write_text(SCRIPT)
    folder.mkdir()
    marked = start(script, folder, "process", task)
    soon((folder / "has-begun").exists)
    marked.process.kill()
    soon(lambda: not marked.alive())
    assert [path.name for path in folder.iterdir()] == ["has-begun"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [
        ["cosim", "tensor.npy", "--unit", "roundtrip"],
        ["cosim", "tensor.npy", "--sim", "fast", "-o", "out.bin"],
        ["analyze", ".", "--csv", "out.csv", "--jobs", "2"],
        ["compress", "tensor.npy", "-o", "out.zvc"],
        ["synth", "--config", "2x8b32", "-o", "out", "--jobs", "2"],
        ["lint", "--config", "2x8b32"],
        ["fuzz", "--unit", "compressor", "--packets", "100000", "--jobs", "2"],
    ],
    ids=lambda verb: " ".join(verb[:4:3]),
)
@pytest.mark.parametrize("seconds", [2, 7])
def test_verbs(start, tmp_path, verb, seconds):
    script = (
        "import sys, numpy\n"
        "random = numpy.random.default_rng(0)\n"
        "numpy.save('tensor.npy', random.integers(0, 3, (4, 8, 512, 512)).astype('f4'))\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    before = {path.name for path in tmp_path.iterdir()}
    (tmp_path / "cache").mkdir()
    # The tools of YoWASP take minutes to compile: only they are not begun with an empty cache.
    yowasp = os.environ.get("YOWASP_CACHE_DIR") or str(cache_folder(part="yowasp"))
    caches = {"CDMA_CACHE": "cache", "YOWASP_CACHE_DIR": yowasp}
    code = f"import os; os.environ |= {caches}; from cdma.cli.main import entry; entry()"
    marked = start("-c", code, *verb)
    time.sleep(seconds)
    marked.process.send_signal(signal.SIGTERM)
    _, err = marked.process.communicate(timeout=300)
    assert marked.process.returncode in (143, 0, -signal.SIGTERM), err  # ended before; not begun
    soon(lambda: not marked.alive())
    left = [path for path in tmp_path.rglob("*") if path.name not in before]
    marks = (".cdma-", ".run-", "run-", ".build-", ".runtime-", "tmp")
    assert [path for path in left if path.name.startswith(marks)] == []
