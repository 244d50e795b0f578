"""Constants of the model: each with its value, its source and a mark.

Marks: A is read in the primary source, D is derived from A, M is from memory, an assumption.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constant:
    """A number that was not measured here.

    Parameters
    ----------
    value : float
    unit : str
    source : str
    mark : str
        A, D or M.
    """

    value: float
    unit: str
    source: str
    mark: str

    def __post_init__(self):
        if self.mark not in ("A", "D", "M"):
            raise ValueError(f"Mark must be A, D or M, not {self.mark!r}")


_LOGS = "Caffe logs of convnet-benchmarks, Titan X (Maxwell), cuDNN R4; VGG E: vDNN Fig. 6"


def _rate(teraflops: float) -> Constant:
    return Constant(teraflops * 1e12, "FLOP/s", _LOGS, "D")


def _bandwidth(gigabytes: float, source: str = _LOGS, mark: str = "D") -> Constant:
    return Constant(gigabytes * 1e9, "B/s", source, mark)


#: Achieved rates of the forward and the backward pass, by kind of convolution.
RATES = {
    "3x3": (_rate(5.4), _rate(5.6)),
    "3x3 thin": (_rate(4.8), _rate(4.0)),
    "5x5": (_rate(5.2), _rate(4.6)),
    "5x5 thin": (_rate(3.9), _rate(3.7)),
    "1x1": (_rate(3.2), _rate(2.55)),
    "first 11x11": (_rate(3.6), _rate(2.5)),
    "first 7x7": (_rate(2.9), _rate(1.7)),
    "first 3x3": (_rate(0.9), _rate(0.55)),
    "fully connected": (_rate(3.0), _rate(4.8)),
}
#: Most input channels of a thin convolution.
THIN_3X3, THIN_5X5 = 64, 48
#: Element-wise layers and ReLU.
MEMORY = _bandwidth(227)
#: Pooling: forward by kernel and stride, and backward.
POOL_FORWARD = {(2, 2): _bandwidth(220), (3, 2): _bandwidth(145), (3, 1): _bandwidth(70)}
POOL_BACKWARD = _bandwidth(70)
#: vDNN's AlexNet ran with faster algorithms than the logs' AlexNet.
ALEXNET_SPEEDUP = Constant(1.59, "", "AlexNet's rows of the logs beside vDNN's base time", "D")

#: Device memory of the boards, and the ratio of their peak rates to the Titan X.
TITAN_X_DRAM = _bandwidth(336.5, "data sheet of the GeForce GTX Titan X", "M")
TITAN_XP_DRAM = _bandwidth(547.7, "data sheet of the Titan Xp", "M")
TITAN_XP_COMPUTE = Constant(12.15 / 6.69, "", "peak rates at boost clock, data sheets", "M")
#: PCIe 3 x16.
LINK = _bandwidth(12.8, "PCIe 3 x16, effective, as vDNN and cDMA assume", "M")
#: zlib in hardware.
ZLIB = _bandwidth(2.5, "cDMA, HPCA 2018: throughput of a hardware zlib", "M")
#: (De)compression on a V100 by size, a line through the twelve tensors of CSWAP's VGG.
CSWAP_CODEC_BASE = Constant(7.03e-3, "s", "CSWAP, CLUSTER 2021, Fig. 3, least squares", "D")
CSWAP_CODEC_PER_BYTE = Constant(18.7e-12, "s/B", "CSWAP, CLUSTER 2021, Fig. 3", "D")
#: CSWAP's regression of those times: relative absolute error, and decisions that are right.
CSWAP_REGRESSION_ERROR = Constant(3, "%", "CSWAP, CLUSTER 2021: 3,000 samples on a GPU", "A")
CSWAP_DECISIONS = Constant(94.2, "%", "CSWAP, CLUSTER 2021", "A")
#: What the cDMA paper says of its speed over vDNN, in percent: average and maximum.
CDMA_GAIN = (
    Constant(32, "%", "cDMA, HPCA 2018, abstract: average", "A"),
    Constant(61, "%", "cDMA, HPCA 2018, abstract: maximum", "A"),
)
CDMA_TALK = (
    Constant(53, "%", "talk on cDMA, HPCA 2018: average on Titan Xp", "M"),
    Constant(79, "%", "talk on cDMA, HPCA 2018: maximum on Titan Xp", "M"),
)
#: Its average ratio.
CDMA_RATIO = Constant(2.6, "", "cDMA, HPCA 2018, abstract", "A")
#: Ratios that COMET gives for its networks.
COMET_RATIO = (
    Constant(10, "", "COMET, VLDB 2022: lowest", "M"),
    Constant(13, "", "COMET, VLDB 2022: highest", "M"),
)
V100_COMPUTE = Constant(15.7 / 6.69, "", "peak fp32 rates, data sheets", "M")
V100_DRAM = _bandwidth(900, "data sheet of the Tesla V100", "M")
