"""``cdma formal``: lists, proves and exports."""

import json

import pytest

from cdma.cli.main import main
from cdma.verify.proofs import proof
from cdma.verify.proofs.registry import registry


def test_list(capsys):
    assert main(["formal", "--list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["proof"] for row in rows] == list(registry())
    assert main(["formal", "--list", "Queue"]) == 0
    assert "A queue keeps the order" in capsys.readouterr().out


def test_proofs_of_a_component(capsys, tmp_path):
    file = tmp_path / "found.json"
    assert main(["formal", "registered", "--save", str(file)]) == 0
    assert capsys.readouterr().out == "lib/registered 8 bits: proven\n"
    (row,) = json.loads(file.read_text())
    assert (row["proof"], row["size"], row["outcome"]) == ("lib/registered", "8 bits", "proven")


def test_what_does_not_hold_fails_with_its_statement(capsys, monkeypatch):
    def broken(self, size):
        return self.refute(self.broken[0])

    monkeypatch.setattr(proof.Proof, "prove", broken)
    assert main(["formal", "registered", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row["outcome"] == "refuted"
    assert "functions.py" in row["statement"]
    assert row["trace"].endswith(".vcd")


def test_export(capsys, tmp_path):
    assert main(["formal", "registered", "--export", str(tmp_path)]) == 0
    names = {"lib_registered-8_bits.il", "lib_registered-8_bits.sby"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert "lib_registered-8_bits.sby" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["Bus"], "Component must be the name of a component, proof or kit, not 'Bus'"),
        (["--seconds", "0"], "--seconds must be 1 or more, not 0"),
        (["--engine", "luck"], "invalid choice: 'luck'"),
        (["--list", "--export", "x"], "--list writes nothing: leave it or --export out"),
        (
            ["zvc/round_trip_no_stalls", "--quick"],
            "all sizes of zvc/round_trip_no_stalls take long: leave --quick out",
        ),
    ],
)
def test_mistakes(options, message, capsys):
    assert main(["formal", *options]) == 2
    assert message in capsys.readouterr().err
