"""Saved tensors: gradients, strides, sharing, changes in place."""

import copy
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from cdma.torch import SavedTensors  # noqa: E402
from cdma.torch.layout import Layout  # noqa: E402
from cdma.torch.payload import Lossless  # noqa: E402


@pytest.fixture(autouse=True)
def _deterministic():
    """Bit-equal gradients need fixed threads and deterministic algorithms."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Dropout(0.3),
        nn.Flatten(),
        nn.Linear(8 * 16, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
    )


IMAGES = torch.randn(5, 3, 8, 8, generator=torch.Generator().manual_seed(1))
LABELS = torch.tensor([0, 1, 2, 3, 0])


def gradients(model, images=IMAGES, hooks=None, **backward):
    """Gradients of a copy of the model, with the same dropout each time."""
    model = copy.deepcopy(model)
    torch.manual_seed(3)
    if hooks is None:
        loss = nn.functional.cross_entropy(model(images).float(), LABELS)
    else:
        with hooks:
            loss = nn.functional.cross_entropy(model(images).float(), LABELS)
    loss.backward(**backward)
    return [each.grad for each in model.parameters()]


def assert_equal_bits(ours, expected):
    assert len(ours) == len(expected) > 0
    for one, other in zip(ours, expected, strict=True):
        assert torch.equal(one.view(torch.int32), other.view(torch.int32))


def test_lossless_gradients_are_bit_equal():
    model = network()
    saved = SavedTensors()
    assert_equal_bits(gradients(model, hooks=saved), gradients(model))
    assert saved.totals.stored_bytes < saved.totals.raw_bytes
    assert set(saved.totals.tensors) == {"lossless"}


def test_channels_last_gradients_are_bit_equal():
    model = network().to(memory_format=torch.channels_last)
    images = IMAGES.to(memory_format=torch.channels_last)
    assert_equal_bits(gradients(model, images, SavedTensors()), gradients(model, images))


def test_autocast_gradients_are_bit_equal():
    model = network()

    def run(hooks=None):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return gradients(model, hooks=hooks)

    assert_equal_bits(run(SavedTensors()), run())


@pytest.mark.parametrize("autocast", [False, True])
def test_parameters_are_not_stored(autocast):
    model = nn.Linear(64, 32)
    rows = torch.randn(2, 64)
    saved = SavedTensors()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast), saved:
        loss = model(rows).sum()
    loss.backward()
    assert saved.totals.raw_bytes == rows.numel() * (2 if autocast else 4)


def test_the_graph_can_be_used_twice():
    model = network()
    saved = SavedTensors()
    with saved:
        loss = nn.functional.cross_entropy(model(IMAGES), LABELS)
    once = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
    again = torch.autograd.grad(loss, list(model.parameters()))
    assert_equal_bits(again, once)


def test_a_result_that_is_the_next_input_is_stored_once():
    model = nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(192, 3))
    saved = SavedTensors()
    images = IMAGES.clone().requires_grad_()
    with saved:
        model(images).sum()
    assert saved.totals.tensors == {"lossless": 1}
    assert saved.totals.raw_bytes == IMAGES.nbytes


def test_memory_that_is_used_again_is_not_taken_for_the_old():
    """An activation may be freed in the forward pass, and another have its address."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.Softplus()) for _ in range(20)))
    rows = torch.randn(8, 64)

    def run(hooks):
        for each in model.parameters():
            each.grad = None
        with hooks:
            loss = model(rows).square().sum()
        loss.backward()
        return [each.grad for each in model.parameters()]

    expected = run(torch.enable_grad())
    assert_equal_bits(run(SavedTensors()), expected)


def test_activations_are_freed_in_the_forward_pass():
    from torch.multiprocessing.reductions import StorageWeakRef

    rows = torch.randn(100, 100, requires_grad=True)
    with SavedTensors():
        middle = rows.exp()
        storage = StorageWeakRef(middle.untyped_storage())
        loss = middle.sum()
        del middle
    assert storage.expired()
    loss.backward()
    assert torch.equal(rows.grad, rows.detach().exp())


def test_double_backward_is_lossless_only():
    rows = torch.randn(4, 6, requires_grad=True)
    model = nn.Sequential(nn.Linear(6, 6), nn.Softplus(), nn.Linear(6, 1))

    def second(hooks):
        with hooks:
            loss = model(rows).square().sum()
            (first,) = torch.autograd.grad(loss, rows, create_graph=True)
        return torch.autograd.grad(first.square().sum(), list(model.parameters())[:3])

    assert_equal_bits(second(SavedTensors()), second(torch.enable_grad()))
    with pytest.raises(RuntimeError, match=r"Second derivatives .* without an error bound"):
        second(SavedTensors("rel=0.1"))


def test_a_change_in_place_is_warned_of():
    rows = torch.randn(4, 6, requires_grad=True)
    with SavedTensors():
        middle = rows * 1
        loss = middle.exp().sum()
        result = middle.square().sum()  # saves middle
    with torch.no_grad():
        middle.zero_()
    loss.backward(retain_graph=True)
    with pytest.warns(RuntimeWarning, match=r"shape \(4, 6\) was changed in place since"):
        result.backward()
    assert torch.equal(rows.grad, rows.detach().exp() + 2 * rows.detach())


def test_a_parameter_that_changed_is_refused():
    model = nn.Linear(6, 6)
    with SavedTensors():
        loss = model(torch.randn(2, 6, requires_grad=True)).sum()
    with torch.no_grad():
        model.weight.zero_()
    with pytest.raises(RuntimeError, match=r"shape \(6, 6\) was changed in place since"):
        loss.backward()


def test_lossy_stores_products_relus_and_others_apart():
    model = network()
    saved = SavedTensors("rel=0.05")
    ours, expected = gradients(model, hooks=saved), gradients(model)
    assert saved.totals.tensors["mask"] == 3
    assert saved.totals.tensors["lossy"] == 4
    lossless = SavedTensors()
    gradients(model, hooks=lossless)
    assert saved.totals.stored_bytes < lossless.totals.stored_bytes
    assert saved.totals.raw_bytes == lossless.totals.raw_bytes
    for one, other in zip(ours, expected, strict=True):
        assert (one - other).norm() <= 0.1 * other.norm()


def test_a_relu_keeps_its_mask():
    """Values that the bound rounds to zero pass their gradient all the same."""
    model = nn.Sequential(nn.ReLU(), nn.Conv2d(3, 2, 3))
    images = IMAGES.clone().requires_grad_()
    with SavedTensors("abs=100"):
        loss = model(images).sum()
    loss.backward()
    expected = IMAGES.clone().requires_grad_()
    model(expected).sum().backward()
    assert torch.equal(images.grad, expected.grad)
    assert model[1].weight.grad is not None


def test_bias_and_input_gradients_of_products_are_exact():
    """Only the gradient of the weights depends on the stored input."""
    model = nn.Conv2d(3, 4, 3)

    def run(hooks):
        model.zero_grad()
        images = IMAGES.clone().requires_grad_()
        with hooks:
            loss = model(images).square().sum()
        loss.backward()
        return images.grad, model.bias.grad, model.weight.grad

    ours, expected = run(SavedTensors("abs=0.1")), run(torch.enable_grad())
    assert torch.equal(ours[0], expected[0])
    assert torch.equal(ours[1], expected[1])
    assert (ours[2] - expected[2]).abs().max() > 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_lossy_values_are_within_the_bound(dtype):
    seen = []

    class Product(torch.autograd.Function):
        """A linear layer that shows what it is given back."""

        @staticmethod
        def forward(ctx, rows):
            ctx.save_for_backward(rows)
            return rows.clone()

        @staticmethod
        def backward(ctx, gradient):
            seen.append(ctx.saved_tensors[0])
            return gradient

    rows = torch.randn(7, 9).to(dtype)
    saved = SavedTensors("abs=0.05")
    saved._call = nn.functional.linear, (rows, torch.empty(0))
    with torch.autograd.graph.saved_tensors_hooks(saved._pack, saved._unpack):
        result = Product.apply(rows.requires_grad_())
    result.sum().backward()
    assert saved.totals.tensors == {"lossy": 1}
    assert seen[0].dtype == dtype
    assert 0 < (seen[0].double() - rows.double()).abs().max() <= 0.05


def test_inputs_without_a_relative_bound_stay_lossless():
    model = nn.Linear(6, 6)
    saved = SavedTensors("rel=0.1")
    with saved:
        loss = model(torch.ones(3, 6)).sum()
    loss.backward()
    assert saved.totals.tensors == {"lossless": 1}


def tensors():
    base = torch.arange(120, dtype=torch.float32).reshape(2, 3, 4, 5)
    return {
        "contiguous": base,
        "channels last": base.contiguous(memory_format=torch.channels_last),
        "transposed": base.transpose(0, 3),
        "expanded": base[:1, :, :, :1].expand(7, 3, 4, 6),
        "sliced": base[:, :, ::2, 1:4],
        "sliced and expanded": base[:, :1, ::3].expand(2, 3, 2, 5),
        "windows": base.reshape(-1).unfold(0, 7, 3),
        "scalar": base[1, 1, 1, 1],
        "one element": base[:1, 1:2, :1, :1],
    }


@pytest.mark.parametrize("name", tensors())
@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int64, torch.bfloat16, torch.float64, torch.complex128]
)
def test_layouts_and_types_come_back(name, dtype):
    tensor = tensors()[name]
    strides = tensor.stride()
    run = torch.empty(int(tensor.numel()) * 60, dtype=dtype)  # room for any strides
    cast = run.as_strided(tensor.shape, strides)
    for index in np.ndindex(*tensor.shape):
        cast[index] = tensor[index].to(dtype)
    layout = Layout.of(cast)
    back = layout.restore(Lossless.of(layout.run(cast)).run())
    assert (back.dtype, back.stride(), back.shape) == (dtype, strides, tensor.shape)
    assert torch.equal(back, cast)


def test_views_of_one_memory_have_one_run():
    base = torch.zeros(2, 3, 4)
    for view in (base.view(24), base.transpose(0, 2), base.view(4, 6)):
        assert Layout.of(view).span == 24
        assert not Layout.of(view).has_gaps


@pytest.mark.parametrize("bound", ["0.1", "abs=0", "rel=x"])
def test_bounds_that_are_refused(bound):
    with pytest.raises(ValueError, match="Error bound must be"):
        SavedTensors(bound)
