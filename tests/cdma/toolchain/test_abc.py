"""ABC decides whether the output of a circuit is ever high, and shows when."""

from cdma.toolchain import abc

#: A register that takes its input over; the output is high while it holds ``low``.
CIRCUIT = """
.model circuit
.inputs a
.outputs bad
.latch next state 0
.names a next
{cover}
.names state bad
1 1
.end
"""


def test_what_is_never_high_is_proven(tmp_path):
    found = abc.decide(
        CIRCUIT.format(cover=" 0").replace("names a next", "names next"), 10, tmp_path
    )
    assert found == abc.Decision(True, None)


def test_what_becomes_high_is_shown_by_its_inputs(tmp_path):
    found = abc.decide(CIRCUIT.format(cover="1 1"), 10, tmp_path)
    assert not found.is_proven
    assert found.trace[0] == [1]
    assert len(found.trace) == 2


def test_a_script_gives_its_files(tmp_path):
    script = "read_blif given.blif\nstrash\nwrite_blif written.blif"
    given = {"given.blif": CIRCUIT.format(cover="1 1")}
    made = abc.run(script, given, ["written.blif"], tmp_path)
    assert ".latch" in made["written.blif"]
    assert list(made) == ["written.blif"]
    assert not list(tmp_path.iterdir())
