"""Failures are reported by reason."""

from cdma.study.run import analyze_all, reasons


def test_reasons_are_grouped():
    failures = {
        "a": "out of memory",
        "b": "b: damaged",
        "c": "out of\nmemory",
        "d": "out of memory",
    }
    assert reasons(failures) == ["a and 2 more: out of memory", "b: damaged"]


def test_nothing_to_do():
    assert analyze_all([], 1) == ([], {})
