"""cDMA, HPCA 2018: average and largest gain over vDNN. A consistency check, no validation.

The paper gives no result by network that could be found, so the six networks, their sizes and the
board's speed are assumptions. The range is that of 15 % more or less compute time.
"""

import math
from dataclasses import replace

from cdma.offload import constants
from cdma.offload.builder import Wishes, build
from cdma.offload.networks.zoo import PAPER
from cdma.offload.schemes.registry import seconds
from cdma.offload.setup import Setup
from cdma.offload.validate.rows import Row, judged, not_given

_CLAIMS = {
    "titan-x": ("Titan X", constants.CDMA_GAIN),
    "titan-xp": ("Titan Xp (talk)", constants.CDMA_TALK),
}
_RULE = "inside the range of +-15 % compute (consistency check)"
_OPEN = "networks, batches and the speed of convolutions are not all published (see the attempts)"
_SPREAD = (0.85, 1.0, 1.15)


def rows(densities: tuple[str, ...] = ()) -> list[Row]:
    """Rows at the paper's ratio and at measured ratios, on both boards."""
    found = []
    for board, (title, (mean, most)) in _CLAIMS.items():
        ratio = constants.CDMA_RATIO.value
        for label, wish in ((f"{ratio:g}x", {"ratio": ratio, "everything": True}), ("", None)):
            claim = f"cDMA over vDNN, {title}, {label or 'measured ratios'}: average, largest"
            if wish is None and not densities:
                found.append(replace(not_given(claim, _RULE), reason="give --densities"))
                continue
            gains = gains_of(board, **(wish or {"densities": densities}))
            averages, largest = ([row[k] for row in gains] for k in (0, 1))
            met = _inside(mean.value, averages) and _inside(most.value, largest)
            reason = "" if met else _OPEN
            found.append(
                Row(claim, f"+{mean.value:g} %, +{most.value:g} %",
                    f"{_range(averages)}, {_range(largest)}", "ratio 1: 0 %", _RULE, judged(met),
                    reason)
            )  # fmt: skip
    return found


def gains_of(board: str, **wishes) -> list[tuple[float, float]]:
    """Average and largest gain in percent at 0.85, 1 and 1.15 of the compute time."""
    setups = [build(Wishes(name, board=board, **wishes)) for name in PAPER]
    found = []
    for factor in _SPREAD:
        gains = [100 * (gain(_at(setup, factor)) - 1) for setup in setups]
        found.append((math.fsum(gains) / len(gains), max(gains)))
    return found


def gain(setup: Setup, over: str = "vdnn-all", of: str = "cdma-zv") -> float:
    """Speed of a scheme over another."""
    slow, fast = (seconds(setup, name) for name in (over, of))
    return slow / fast


def _at(setup: Setup, factor: float) -> Setup:
    return replace(setup, times=setup.times.scaled(factor))


def _inside(value: float, range_: list[float]) -> bool:
    return min(range_) <= value <= max(range_)


def _range(values: list[float]) -> str:
    return f"+{values[1]:.0f} % ({min(values):.0f} to {max(values):.0f})"
