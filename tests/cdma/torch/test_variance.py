"""The predicted variance of gradients, against what the codec does to them."""

import pytest

torch = pytest.importorskip("torch")

from cdma.golden.lossy.bound import Bound  # noqa: E402
from cdma.torch.payload import Lossy  # noqa: E402
from cdma.torch.variance import bound_for, gradient_variance  # noqa: E402


def stored(images, bound):
    """What comes back of the images, and the absolute bound."""
    payload = Lossy.of(images.reshape(-1), bound)
    return payload.run().view(images.shape), payload.quantised.bound


def weight_gradient(images, gradient, shape, **convolution):
    arguments = images.double(), shape, gradient.double()
    return torch.nn.grad.conv2d_weight(*arguments, **convolution)


@pytest.mark.parametrize("relative", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("convolution", [{"padding": 1}, {"stride": 2}])
def test_measured_over_predicted(relative, convolution, record_property):
    torch.manual_seed(0)
    measured = predicted = bias = 0.0
    elements = 0
    for _ in range(4):
        images = torch.relu(torch.randn(8, 6, 12, 12) - 0.3)
        output = torch.nn.functional.conv2d(images, torch.zeros(10, 6, 3, 3), **convolution)
        gradient = torch.randn_like(output) * 0.01
        back, bound = stored(images, Bound("rel", relative))
        exact = weight_gradient(images, gradient, (10, 6, 3, 3), **convolution)
        change = weight_gradient(back, gradient, (10, 6, 3, 3), **convolution) - exact
        measured += change.square().sum().item()
        bias += change.sum().item()
        elements += change.numel()
        variance = gradient_variance(images, gradient, (3, 3), bound, **convolution)
        assert variance.shape == change.shape
        predicted += variance.sum().item()
    record_property("bias over deviation", bias / elements / (predicted / elements) ** 0.5)
    assert 0.8 < measured / predicted < 1.25
    # Errors of one image reach many elements, so the bias is looser than 1 / sqrt(elements).
    assert abs(bias / elements) < 0.2 * (predicted / elements) ** 0.5


def test_bound_for_a_target():
    torch.manual_seed(1)
    images = torch.relu(torch.randn(4, 3, 9, 9))
    gradient = torch.randn(4, 5, 7, 7)
    bound = bound_for(0.25, images, gradient, (3, 3))
    variance = gradient_variance(images, gradient, (3, 3), bound)
    assert variance.mean().sqrt().item() == pytest.approx(0.25)
    back, _ = stored(images, Bound("abs", bound))
    change = weight_gradient(back, gradient, (5, 3, 3, 3))
    change -= weight_gradient(images, gradient, (5, 3, 3, 3))
    assert 0.8 < change.square().mean().item() / 0.25**2 < 1.25


def test_zeros_have_no_error():
    gradient = torch.ones(1, 1, 2, 2)
    images = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    assert gradient_variance(images, gradient, (1, 1), 3.0).item() == 6.0
    with pytest.raises(ValueError, match="all terms of its variance are 0"):
        bound_for(0.1, torch.zeros_like(images), gradient, (1, 1))
