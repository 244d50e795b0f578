"""The document's tables are made of the records, and the committed one is current."""

import os
import re
from pathlib import Path

import pytest

from cdma.errors import UserError
from cdma.study.algorithms.registry import installed
from cdma.study.analysis import analyze, plan
from cdma.study.report import document
from cdma.study.summary import totals

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[4]


@pytest.fixture
def text(records, tmp_path):
    document.write(records, tmp_path)
    return (tmp_path / "study.md").read_text()


def rows_of(text, heading):
    """Cells of the table whose first row begins with ``heading``."""
    table = text[text.index(f"| {heading}") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]


def test_all_claims_with_a_verdict(text):
    head, _, *rows = rows_of(text, "The paper")
    assert head == ["The paper", "Here", "Verdict", "Rule"]
    assert len(rows) == 9
    assert all(re.match(r"holds|does not hold|no data", row[2]) for row in rows)


def test_table_of_ratios(text, records):
    head, _, first, average = rows_of(text, "Network     | Tensors")
    assert head[3:12] == [
        f"{n} {it}" for n in ("RL", "ZV", "ZL") for it in ("NCHW", "NHWC", "CHWN")
    ]
    maps = {total["layout"]: total for total in totals(records)}
    expected = [maps["NHWC"]["ratios"][name] for name in ("rl", "zvc32", "zlib4k")]
    assert [float(first[at]) for at in (4, 7, 10)] == pytest.approx(expected, abs=0.006)
    assert first[0] == "AlexNet-toy"
    assert average[0] == "mean"


def test_where_it_is_not_the_papers(text):
    row = rows_of(text, "Network     | In the paper")[2]
    assert row[:6] == ["AlexNet-toy", "AlexNet", "21", "4", "16 x 16", "step 0, step 10, step 20"]
    assert "missing: OverFeat, NiN, VGG, SqueezeNet, GoogLeNet." in text
    assert "Of the 21 tensors given 21 are used" in text


def test_pictures_are_written(text, tmp_path):
    shown = re.findall(r"!\[.*\]\((.*)\)", text)
    assert len(shown) == 3
    assert all((tmp_path / name).is_file() for name in shown)


def test_other_formats_are_shown_for_the_layers_that_all_have(records, tmp_path):
    half = [
        {**r, "tensor": "half " + r["tensor"], "format": "fp16", "dtype": "uint16"}
        for r in records
        if r["layer"] == "relu1"
    ]
    document.write([*records, *half], tmp_path)
    _, _, *rows = rows_of((tmp_path / "study.md").read_text(), "Elements")
    assert [row[:2] for row in rows] == [["float32", "3"], ["fp16", "3"]]


def test_many_steps_are_shown_in_few_columns(records, tmp_path):
    many = [
        {**r, "step": r["step"] + 100 * turn, "stage": f"{r['stage']}.{turn}", "digest": str(turn)}
        | {"tensor": f"{turn} {r['tensor']}"}
        for r in records
        if r["layout"] != "NC" and not r["is_pool"]
        for turn in range(5)
    ]
    document.write(many, tmp_path)
    text = (tmp_path / "study.md").read_text()
    assert "step 0.0 to step 20.4, 15 in all" in text
    (head, *_) = rows_of(text, "AlexNet-toy | step")
    assert len(head) == 7
    assert (head[1], head[-1]) == ("step 0.0", "step 20.4")


def test_copies_count_once(records, tmp_path, text):
    copies = [{**record, "tensor": "copy of " + record["tensor"]} for record in records]
    document.write([*records, *copies], tmp_path)
    again = (tmp_path / "study.md").read_text()
    assert again.replace("Of the 42 tensors", "Of the 21 tensors") == text


def test_refuses_records_without_maps(records, tmp_path):
    with pytest.raises(UserError, match=r"^no fp32 tensor among these has the axes N, C, H and W$"):
        document.write([r for r in records if r["layout"] == "NC"], tmp_path)


def test_ends_of_lines_and_no_path_of_this_machine(text):
    assert "\r" not in text
    assert "/tmp" not in text
    assert text.endswith("no zero.\n")


@pytest.mark.slow
def test_the_committed_document_is_what_the_data_give(tmp_path):
    """Figures may differ by 1 %, since libraries of other versions compress otherwise."""
    data = os.environ.get("CDMA_DATA")
    if not data:
        pytest.skip("CDMA_DATA is not set")
    tasks = plan([data], algorithms=tuple(installed()[0]))
    document.write([r for task in tasks for r in analyze(task.argument)], tmp_path)
    written, kept = (
        re.split(r"(\d+(?:\.\d+)?)", re.sub(r" +|-{3,}", " ", (folder / "study.md").read_text()))
        for folder in (tmp_path, ROOT / "docs")
    )
    assert written[::2] == kept[::2]
    numbers = [float(number) for number in written[1::2]]
    assert len(numbers) > 300
    assert numbers == pytest.approx([float(number) for number in kept[1::2]], rel=0.01)
    names = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert names == sorted(path.name for path in (ROOT / "docs" / "images").glob("study_*"))
