"""Advice: speed of the engine by compute speed, and which assumption changes it."""

from dataclasses import replace

from cdma.offload.answers import advise, tornado
from cdma.offload.pictures.canvas import GREY
from cdma.offload.setup import Setup


def draw_advice(figure, setup: Setup, speed: float = 1) -> None:
    """Speed over vDNN and over the best baseline, and how it changes with each assumption.

    Parameters
    ----------
    figure : Figure
    setup : Setup
        With the chosen engine.
    speed : float
        Of compute, relative to the setup's, at which assumptions are changed.
    """
    figure.set_size_inches(7.5, 3)
    left, right = figure.subplots(1, 2)
    rows = advise.curve(setup)
    for key, title in (("over_best", "best baseline"), ("over_vdnn", "vDNN all")):
        x, y = zip(*((row["tflops"], row[key]) for row in rows), strict=True)
        left.plot(x, y, marker=".", label=f"over {title}")
    left.axhline(tornado.THRESHOLD, color=GREY, lw=0.8, label="pays above")
    left.set_xscale("log")
    left.set_xlabel("achieved compute, TFLOP/s")
    left.set_ylabel("speed of the engine")
    left.legend(fontsize=7)
    at = replace(setup, times=setup.times.scaled(1 / speed))
    now, changes = advise.answer(at).over_best, tornado.rows(at)
    names = [row["assumption"] + (" (flips)" if row["flips"] else "") for row in changes]
    for key, sign, color in (("low", "/", "#d95f0e"), ("high", "x", "#4292c6")):
        widths = [row[key] - now for row in changes]
        label = f"{sign} {tornado.FACTOR:g}"
        right.barh(names, widths, left=now, color=color, alpha=0.8, label=label)
    right.axvline(tornado.THRESHOLD, color=GREY, lw=0.8)
    right.invert_yaxis()
    right.set_xlabel(f"over the best baseline, at {advise.achieved(at) / 1e12:.3g} TFLOP/s")
    right.legend(fontsize=7)
