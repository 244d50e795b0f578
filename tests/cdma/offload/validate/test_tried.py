"""What was tried to explain the misses: the attempts do what they say."""

import pytest

from cdma.offload.validate import tried, vdnn


def test_there_is_nothing_without_figures(monkeypatch):
    monkeypatch.delenv("CDMA_PUBLISHED", raising=False)
    assert tried.rows() == []


@pytest.mark.parametrize("attempt", tried.ATTEMPTS[3:], ids=lambda attempt: attempt.title)
def test_every_attempt_changes_the_step(setup_of, attempt):
    setup = setup_of("squeezenet1.0")
    before, after = (
        each.seconds(each.change(setup), "vdnn-all") / sum(each.change(setup).times.forward)
        for each in (tried.ATTEMPTS[0], attempt)
    )
    assert abs(after / before - 1) > 0.005


def test_scaled_layers(setup_of):
    setup = setup_of("alexnet")
    half = tried.scaled(setup, lambda layer: layer.name == "conv2", 0.5, 2)
    for k, layer in enumerate(setup.features.layers):
        there, back = (0.5, 2) if layer.name == "conv2" else (1, 1)
        assert half.times.forward[k] == there * setup.times.forward[k]
        assert half.times.backward[k] == back * setup.times.backward[k]


def test_figure_6_gives_the_times_of_vgg(published, setup_of):
    setup = setup_of("vgg-e", batch=64)
    given = vdnn.with_fig6(setup)
    names = [layer.name for layer in setup.features.layers]
    relu = 2 * setup.features.layers[0].elements * 64 * 4 / 227e9
    assert given.times.forward[names.index("conv1_1")] == pytest.approx(11.8e-3 + relu)
    assert given.times.forward[names.index("pool1")] == setup.times.forward[names.index("pool1")]
    double = vdnn.with_fig6(setup_of("vgg-e", batch=128))
    assert double.times.total == pytest.approx(2 * given.times.total, rel=0.01)
    alexnet = setup_of("alexnet")
    assert vdnn.with_fig6(alexnet) is alexnet


def test_what_the_document_says_of_the_attempts(published):
    rows = tried.rows()
    assert len(rows) == len(tried.ATTEMPTS)
    model, roofline, *_, faster = rows
    assert abs(float(model["vgg"])) <= 3 < abs(float(roofline["vgg"]))
    claims = [float(part.strip("+ %")) for part in faster["titan-x"].split(",")]
    assert claims == pytest.approx([32, 61], abs=2)
