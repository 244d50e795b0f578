"""The networks that the model knows, by name."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from cdma.errors import UserError
from cdma.offload.constants import ALEXNET_SPEEDUP
from cdma.offload.networks import branches, chains
from cdma.offload.networks.graph import Builder, Network
from cdma.offload.networks.onnx_model import read_onnx

_BENCHMARKS = "soumith/convnet-benchmarks"
_VGG = "Simonyan, Zisserman, arXiv 1409.1556, table 1"
_OVERFEAT = "Sermanet et al., arXiv 1312.6229, tables 1 and 3"
_SQUEEZE = "forresti/SqueezeNet"
#: Title, builder, source, default batch.
_ZOO: dict[str, tuple[str, Callable[[], Builder], str, int]] = {
    "alexnet": ("AlexNet", chains.alexnet, _BENCHMARKS, 128),
    "overfeat": ("OverFeat fast", chains.overfeat_fast, f"{_BENCHMARKS}; {_OVERFEAT}", 128),
    "overfeat-accurate": ("OverFeat accurate", chains.overfeat_accurate, _OVERFEAT, 128),
    "nin": ("NiN", chains.nin, "Caffe model zoo, NIN ImageNet", 128),
    "vgg-a": ("VGG A", partial(chains.vgg, "a"), _VGG, 64),
    "vgg-d": ("VGG D", partial(chains.vgg, "d"), _VGG, 64),
    "vgg-e": ("VGG E", partial(chains.vgg, "e"), _VGG, 64),
    "squeezenet1.0": ("SqueezeNet 1.0", partial(branches.squeezenet, "1.0"), _SQUEEZE, 128),
    "squeezenet1.1": ("SqueezeNet 1.1", partial(branches.squeezenet, "1.1"), _SQUEEZE, 128),
    "googlenet": ("GoogLeNet", branches.googlenet, _BENCHMARKS, 128),
    "resnet50": ("ResNet-50", branches.resnet50, "He et al., arXiv 1512.03385, table 1", 128),
    "mobilenetv2": ("MobileNetV2", branches.mobilenetv2, "arXiv 1801.04381, table 2", 128),
    "ffn": ("FFN, squared ReLU", branches.ffn, "So et al., arXiv 2109.08668", 16),
}
NAMES = tuple(_ZOO)
#: The six of the cDMA paper; its VGG is taken to be model D.
PAPER = ("alexnet", "overfeat", "nin", "vgg-d", "squeezenet1.0", "googlenet")


@cache
def network(name: str) -> Network:
    """Network of a name, or of an ONNX model when the name ends in ``.onnx``.

    Raises
    ------
    UserError
        When there is none.
    """
    if name.endswith(".onnx"):
        return read_onnx(name)
    if name not in _ZOO:
        known = ", ".join(NAMES)
        raise UserError(f"network must be one of {known}, or an .onnx file, not {name!r}")
    title, build, source, batch = _ZOO[name]
    builder = build()
    made = Network(name, title, builder.image, tuple(builder.layers), source, batch)
    return replace(made, speedup=ALEXNET_SPEEDUP.value) if name == "alexnet" else made
