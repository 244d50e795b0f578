"""Records as text, CSV and JSON hold the same figures."""

import csv
import io
import json

from cdma.study.report import tables


def test_csv_has_a_line_for_each_record(records):
    lines = list(csv.DictReader(io.StringIO(tables.as_csv(records))))
    assert len(lines) == len(records)
    for line, record in zip(lines, records, strict=True):
        assert line["tensor"] == record["tensor"]
        assert line["layout"] == record["layout"]
        assert line["shape"] == "x".join(map(str, record["shape"]))
        assert float(line["density"]) == record["density"]
        for name, size in record["sizes"].items():
            assert int(line[f"{name}_bytes"]) == size
            assert float(line[f"{name}_ratio"]) == record["ratios"][name]
        assert line["rtl_cycles"] == ""


def test_json_has_everything(records):
    whole = json.loads(tables.as_json(records, {"a": "no such file"}))
    assert [record["sizes"] for record in whole["records"]] == [r["sizes"] for r in records]
    assert whole["failures"] == {"a": "no such file"}
    assert list(whole["algorithms"]) == list(records[0]["sizes"])
    assert {total["network"] for total in whole["totals"]} == {"AlexNet-toy"}


def test_text_leaves_out_the_folder_that_all_share(records):
    first = tables.text(records).splitlines()
    assert first[0].split()[:4] == ["tensor", "layout", "density", "ZVC"]
    assert first[2].startswith("step0.fc.npy ")
    other = [{**records[0], "tensor": "elsewhere/a.npy"}, records[1]]
    assert "elsewhere/a.npy" in tables.text(other)
    assert records[1]["tensor"] in tables.text(other)


def test_text_of_a_key(records):
    (line,) = [
        line
        for line in tables.text([{**records[0], "tensor": "a/b.npz:x/y"}]).splitlines()
        if "b.npz" in line
    ]
    assert line.startswith("b.npz:x/y ")


def test_hardware_has_columns_where_it_ran(records):
    rtl = {"config": "8x32", "bytes": 500, "cycles": 1000, "packets": 1, "problem": ""}
    ran = [{**record, "rtl": rtl} for record in records[:2]]
    assert "RTL cycles" not in tables.text(records)
    assert "RTL cycles" in tables.text(ran)
    assert " equal" in tables.text(ran)
    (line,) = csv.DictReader(io.StringIO(tables.as_csv(ran[:1])))
    assert (line["rtl_config"], line["rtl_cycles"]) == ("8x32", "1000")
    broken = [{**records[0], "rtl": {**rtl, "problem": "packet 1: time is up"}}]
    assert "packet 1: time is up" in tables.text(broken)
