"""Outputs of ReLU and pooling, seen in a model's forward pass."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from cdma.tensors.capture.outputs import Outputs  # noqa: E402

IMAGES = {1: torch.randn(2, 3, 8), 2: torch.randn(2, 3, 8, 8), 3: torch.randn(2, 3, 8, 8, 8)}


def seen(model, inputs):
    """Name, kind and a copy of each output that was given."""
    given = []
    with Outputs(model, lambda name, kind, output: given.append((name, kind, output.clone()))):
        model(inputs)
    return given


class Functional(nn.Module):
    """Of functions alone, in a module below the model, as many models are written."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        for function in self.functions:
            x = function(x)
        return x


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        *((nn.ReLU(), "relu"), (nn.ReLU(inplace=True), "relu"), (nn.ReLU6(), "relu")),
        *((nn.MaxPool2d(2), "pool"), (nn.MaxPool2d(2, return_indices=True), "pool")),
        *((nn.AvgPool2d(2), "pool"), (nn.LPPool2d(2, 2), "pool")),
        *((nn.AdaptiveAvgPool2d(2), "pool"), (nn.AdaptiveMaxPool2d(2), "pool")),
        *((nn.AdaptiveMaxPool2d(2, return_indices=True), "pool"),),
        *((nn.FractionalMaxPool2d(2, output_size=3), "pool"),),
        *((F.relu, "relu"), (F.relu_, "relu"), (F.relu6, "relu"), (torch.relu, "relu")),
        *((torch.relu_, "relu"), (torch.Tensor.relu, "relu"), (torch.Tensor.relu_, "relu")),
        *((lambda x: F.max_pool2d(x, 2), "pool"), (lambda x: torch.max_pool2d(x, 2), "pool")),
        *((lambda x: F.avg_pool2d(x, 2), "pool"), (lambda x: F.adaptive_avg_pool2d(x, 1), "pool")),
    ],
)
def test_layers_and_functions(layer, kind):
    torch.manual_seed(0)
    expected = layer(IMAGES[2].clone())
    expected = expected[0] if isinstance(expected, tuple) else expected
    torch.manual_seed(0)
    ((_, given, output),) = seen(Functional([layer]), IMAGES[2].clone())
    assert given == kind
    if not isinstance(layer, nn.FractionalMaxPool2d):  # pools at random places
        assert torch.equal(output, expected)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("name", ["MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool"])
def test_pooling_of_all_dimensions(name, dimensions):
    layer = getattr(nn, f"{name}{dimensions}d")(2)
    ((_, kind, output),) = seen(layer, IMAGES[dimensions])
    assert kind == "pool"
    assert torch.equal(output, layer(IMAGES[dimensions]))


@pytest.mark.parametrize(
    "layer", [nn.LeakyReLU(), nn.GELU(), nn.Hardtanh(), nn.BatchNorm2d(3), nn.Conv2d(3, 3, 3)]
)
def test_other_layers_are_none_of_them(layer):
    assert seen(nn.Sequential(layer, nn.Softmax(dim=1)), IMAGES[2]) == []


def test_names_and_kinds():
    block = nn.ModuleDict({"conv": nn.Conv2d(3, 3, 3, padding=1), "act": nn.ReLU()})

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = block

        def forward(self, x):
            x = self.inner["act"](self.inner["conv"](x))
            x = F.relu(F.relu(x))
            return self.inner["act"](x)

    model = nn.Sequential(nn.ReLU(), Block(), nn.MaxPool2d(8), nn.Flatten(), nn.Linear(3, 2))
    model.append(nn.ReLU())
    given = [(name, kind) for name, kind, _ in seen(model, IMAGES[2])]
    assert given == [
        ("0", "relu"),
        ("1.inner.act", "conv+relu"),
        ("1.relu", "conv+relu"),
        ("1.relu_2", "conv+relu"),
        ("1.inner.act_2", "conv+relu"),
        ("2", "pool"),
        ("5", "fc+relu"),
    ]


def test_names_never_collide():
    model = nn.Sequential()
    model.add_module("relu_2", nn.ReLU())
    model.forward = lambda x: model.relu_2(F.relu(F.relu(x)))
    names = [name for name, _, _ in seen(model, IMAGES[2])]
    assert names == ["relu", "relu_2", "relu_2_2"]


def test_output_is_seen_before_it_is_overwritten():
    model = Functional([nn.ReLU(), lambda x: x.mul_(0)])
    ((_, _, output),) = seen(model, IMAGES[2].clone())
    assert torch.equal(output, F.relu(IMAGES[2]))


def test_nothing_is_left_behind():
    model = nn.Sequential(nn.ReLU(), nn.ReLU())
    seen(model, IMAGES[2])
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        seen(nn.Sequential(model, nn.Linear(3, 2)), IMAGES[2])
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert len(seen(model, IMAGES[2])) == 2


def test_gradients_are_those_without_it():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
    gradients = []
    for outputs in (Outputs(model, lambda *_: None), torch.enable_grad()):
        model.zero_grad()
        with outputs:
            result = model(IMAGES[2])
        result.sum().backward()
        gradients.append(model[0].weight.grad.clone())
    assert torch.equal(*gradients)
