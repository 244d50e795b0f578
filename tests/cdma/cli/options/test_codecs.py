"""Options that choose the codec of a unit."""

import argparse

import pytest

from cdma.cli.options import (
    add_codec_options,
    add_config_options,
    add_zero_options,
    config_from,
    one_type,
    only_zvc,
)
from cdma.errors import UserError
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import Config as PlusConfig
from cdma.hdl.zvcplus.mixed.config import MixedConfig

PLUS = ("--codec", "zvcplus")


def parsed(*argv):
    parser = argparse.ArgumentParser()
    for add in (add_config_options, add_codec_options, add_zero_options):
        add(parser)
    return parser.parse_args(argv)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ((), Config.of(8, 32)),
        (("--codec", "zvc", "--lanes", "4"), Config.of(4, 32)),
        (("--codec", "zvcplus"), PlusConfig("bf16")),
        (("--codec", "zvcplus", "--type", "fp32", "--lanes", "8"), PlusConfig("fp32")),
        (("--codec", "zvcplus", "--type", "fp16", "--repeats", "none"), PlusConfig("fp16")),
        (("--config", "zvcplus-fp16"), PlusConfig("fp16")),
        (("--codec", "zvcplus", "--type", "int8,fp32"), MixedConfig(("fp32", "int8"))),
        (("--config", "zvcplus-fp32+int8-left"), MixedConfig(("fp32", "int8"), "left")),
    ],
)
def test_configurations(argv, expected):
    assert config_from(parsed(*argv), type_="bf16") == expected


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--type", "fp32"), "--type is for --codec zvcplus: add it, or leave --type out"),
        (
            ("--codec", "zvc", "--repeats", "left"),
            "--repeats is for --codec zvcplus: add it, or leave --repeats out",
        ),
        (
            (*PLUS, "--word-bits", "32"),
            "--word-bits is not for --codec zvcplus, the type gives it: leave it out",
        ),
        (
            (*PLUS, "--block-words", "32"),
            "--block-words is not for --codec zvcplus, its blocks have 128 bytes: leave it out",
        ),
        (
            (*PLUS, "--tail", "ones"),
            "--tail is not for --codec zvcplus, its decoder needs a word count: leave it out",
        ),
        (
            (*PLUS, "--zero-value", "1"),
            "--zero-value is not for --codec zvcplus, words are zero in all bits: leave it out",
        ),
        ((*PLUS, "--type", "32"), "Type must be one of fp32, fp16, bf16, int8, not '32'"),
        (
            (*PLUS, "--type", "fp32,bf16", "--lanes", "8"),
            "Number of lanes of several types must be left out, not 8",
        ),
        ((*PLUS, "--repeats", "above"), "Repeats of hardware must be none or left, not 'above'"),
        (
            (*PLUS, "--lanes", "4"),
            "Number of lanes of ZVC+ must be 8 for fp32, a beat of 32 bytes, not 4",
        ),
        ((*PLUS, "--config", "8x32"), "--config names the whole size: leave out --codec"),
    ],
)
def test_refuses(argv, message):
    with pytest.raises(UserError) as refused:
        config_from(parsed(*argv))
    assert str(refused.value) == message


def test_verbs_of_one_type():
    assert one_type(PlusConfig(), "cdma mutate") == PlusConfig()
    with pytest.raises(
        UserError, match=r"^cdma mutate takes units of one type, not zvcplus-fp32\+bf16$"
    ):
        one_type(MixedConfig(("fp32", "bf16")), "cdma mutate")


def test_verbs_of_the_first_codec():
    assert only_zvc(Config(), "mutate") == Config()
    with pytest.raises(UserError, match=r"^cdma mutate is for codec zvc, not for zvcplus$"):
        only_zvc(PlusConfig(), "mutate")
