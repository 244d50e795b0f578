"""Kept results: found when nothing changed, made anew when anything did or the file is damaged."""

import pytest

from cdma.errors import UserError
from cdma.toolchain.steps import Steps
from cdma.toolchain.tool import STDOUT, Tool

ECHO = Tool("echo", "1", ("/bin/echo",))
CAT = Tool("cat", "1", ("/bin/cat",))


def test_second_run_calls_no_tool(tmp_path, calls):
    for _ in range(2):
        assert Steps(tmp_path).run("say", ECHO, ["x"], {}, [STDOUT]) == {STDOUT: "x\n"}
    assert calls == ["echo"]


def test_counts_and_announces_what_runs(tmp_path):
    said = []
    steps = Steps(tmp_path, lambda label, seconds: said.append(label))
    for _ in range(3):
        steps.run("say", ECHO, ["x"], {}, [STDOUT])
    assert (steps.ran, steps.found, said) == (1, 2, ["say"])


@pytest.mark.parametrize(
    "other",
    [
        (CAT, ["in.txt"], {"in.txt": "b"}),
        (CAT, ["-s", "in.txt"], {"in.txt": "a"}),
        (Tool("cat", "2", CAT.command), ["in.txt"], {"in.txt": "a"}),
    ],
    ids=["input", "arguments", "version"],
)
def test_any_change_is_another_step(tmp_path, calls, other):
    steps = Steps(tmp_path)
    steps.run("one", CAT, ["in.txt"], {"in.txt": "a"}, [STDOUT])
    tool, arguments, inputs = other
    answer = steps.run("two", tool, arguments, inputs, [STDOUT])
    assert answer == {STDOUT: inputs["in.txt"]}
    assert calls == ["cat", "cat"]


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"plain", None], ids=str)
def test_damaged_entry_is_made_anew(tmp_path, calls, damage):
    Steps(tmp_path).run("say", ECHO, ["x"], {}, [STDOUT])
    (entry,) = tmp_path.glob("steps/*.json.gz")
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-4] if damage is None else damage)
    assert Steps(tmp_path).run("say", ECHO, ["x"], {}, [STDOUT]) == {STDOUT: "x\n"}
    assert calls == ["echo", "echo"]
    assert entry.read_bytes() == whole


def test_failure_is_not_kept_and_names_the_step(tmp_path):
    with pytest.raises(UserError, match=r"^say: cat failed: .*No such file"):
        Steps(tmp_path).run("say", CAT, ["none.txt"], {}, [STDOUT])
    assert list((tmp_path / "steps").iterdir()) == []
