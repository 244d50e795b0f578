"""Configurations of ZVC+ units by name, by types and by formats."""

import re

import pytest

from cdma.hdl import codecs
from cdma.hdl.zvcplus import config, named
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.mixed.config import NAMED, MixedConfig
from cdma.zvcplus import Format


@pytest.mark.parametrize("each", [*config.NAMED.values(), *NAMED.values()], ids=lambda c: c.name)
def test_every_name(each):
    assert named.parse(each.name) == each
    assert codecs.config_named(each.name) == each


def test_types():
    assert named.of_types(["bf16"], "left", 16) == Config("bf16", "left")
    assert named.of_types(["int8", "fp32"], "left") == MixedConfig(("fp32", "int8"), "left")


def test_formats():
    formats = [Format("bf16", "left"), Format("fp32", "left")]
    assert codecs.config_of(formats) == MixedConfig(("fp32", "bf16"), "left")
    assert codecs.config_of(formats[:1]) == Config("bf16", "left")
    for wrong in ("fp32", [Format("fp32"), 16]):
        with pytest.raises(TypeError, match=r"^Each of several formats must be one of ZVC\+, not "):
            codecs.config_of(wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: named.of_types(["fp32", "bf16"], lanes=8),
            "Number of lanes of several types must be left out, not 8",
        ),
        (
            lambda: named.of_formats([Format("fp32"), Format("bf16", "left")]),
            "Formats must have the same repeats, not left and none",
        ),
        (lambda: codecs.config_of([]), "Formats must have the same repeats, not no format"),
        (
            lambda: codecs.config_of([Format("fp32"), Format("bf16")], 8),
            "Number of lanes of several types must be left out, not 8",
        ),
        (
            lambda: named.parse("zvcplus-fp32+"),
            "Type must be one of fp32, fp16, bf16, int8, not ''",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
