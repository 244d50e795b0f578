"""Hooks that compress what autograd saves for the backward pass."""

import warnings
import weakref
from collections import Counter
from dataclasses import dataclass, field

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from cdma.golden.lossy.bound import Bound
from cdma.torch.layout import Layout
from cdma.torch.payload import Lossless, Lossy, Mask, has_bound

_F = torch.nn.functional
#: Functions whose input is stored within the error bound: its gradient is a sum of products.
_PRODUCTS = {
    *(torch.conv1d, torch.conv2d, torch.conv3d, _F.linear),
    *(torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d),
}
#: Functions that look only at the sign of what they save.
_RELUS = {torch.relu, torch.relu_, torch.Tensor.relu, torch.Tensor.relu_, _F.relu, _F.relu_}
#: Nodes that a parameter passes on its way into a product: views and casts.
_PASSING = {
    *("TBackward0", "ToCopyBackward0", "ViewBackward0", "TransposeBackward0", "PermuteBackward0"),
    *("ExpandBackward0", "UnsqueezeBackward0", "SqueezeBackward1", "UnsafeViewBackward0"),
}


@dataclass(eq=False)
class _Entry:
    """Compressed elements, shared by all saved tensors that have them."""

    payload: Lossless | Lossy | Mask
    storage: StorageWeakRef
    probe: torch.Tensor  # no elements, but the version counter of the tensor
    version: int
    has_warned: bool = False


@dataclass(frozen=True, eq=False)
class _Handle:
    """A saved tensor: compressed elements and their layout."""

    entry: _Entry
    layout: Layout
    device: torch.device


@dataclass(frozen=True, eq=False)
class _Kept:
    """A saved tensor that stays as it is: a parameter, or of a kind that has no words."""

    tensor: torch.Tensor
    version: int


@dataclass
class Totals:
    """What was saved so far.

    Attributes
    ----------
    tensors : Counter
        Distinct tensors by how they are stored: ``lossless``, ``lossy``, ``mask``.
    raw_bytes : int
        Bytes of their elements. Elements that are shared count once.
    stored_bytes : int
        Bytes of what is stored in their place.
    """

    tensors: Counter = field(default_factory=Counter)
    raw_bytes: int = 0
    stored_bytes: int = 0

    @property
    def ratio(self) -> float:
        """Raw bytes for each byte stored; 1 when nothing was saved."""
        return self.raw_bytes / self.stored_bytes if self.stored_bytes else 1.0


class SavedTensors:
    """Compress the tensors that autograd saves, until the backward pass needs them.

    Use it around the forward pass; the backward pass may follow outside::

        with SavedTensors() as saved:
            loss = model(images).sum()
        loss.backward()
        print(saved.totals.ratio)

    Without a bound all tensors come back bit for bit, with their strides. With a bound

    - what convolutions and linear layers save of their input is stored within the bound;
    - what a ReLU saves of its result is stored as a mask of 1 bit per element, so that no gradient
      depends on values that were rounded to zero;
    - all others stay lossless. So do inputs that have no relative bound.

    Parameters and their casts by autocast are not stored. Elements that several operations save,
    such as a ReLU's result that is the next convolution's input, are stored once in lossless mode.

    A changed tensor is stored as it was when it was saved: where PyTorch would raise an error about
    a change in place, this warns. ``torch.compile`` calls such hooks only behind its compiled
    forward pass, so they save no peak memory there.

    Parameters
    ----------
    lossy : str, Bound or None
        ``"abs=EB"`` or ``"rel=R"``; ``None`` for lossless.

    Attributes
    ----------
    totals : Totals
        What was saved so far.

    Raises
    ------
    ValueError
        When the bound is not understood.
    RuntimeError
        In the backward pass: when a tensor that was not stored has changed, or when a second
        derivative is asked for in lossy mode.
    """

    def __init__(self, lossy: str | Bound | None = None):
        self.bound = Bound.parse(lossy) if isinstance(lossy, str) else lossy
        self.totals = Totals()
        self._entries = weakref.WeakValueDictionary()
        self._memories = weakref.WeakValueDictionary()
        self._contexts = []
        self._call = None

    def __enter__(self):
        contexts = [saved_tensors_hooks(self._pack, self._unpack)]
        if self.bound is not None:
            contexts.append(_Calls(self))
        for context in contexts:
            context.__enter__()
        self._contexts.append(contexts)
        return self

    def __exit__(self, *error):
        for context in reversed(self._contexts.pop()):
            context.__exit__(*error)

    def _pack(self, tensor: torch.Tensor) -> _Handle | _Kept:
        if _has_no_words(tensor) or _is_parameter(tensor):
            return _Kept(tensor.detach(), tensor._version)
        layout = Layout.of(tensor)
        kind = self._kind(tensor)
        entry = self._entry(tensor.detach(), layout, kind)
        return _Handle(entry, layout, tensor.device)

    def _entry(self, tensor: torch.Tensor, layout: Layout, kind: str) -> _Entry:
        """Compressed elements, which another tensor may have brought already."""
        storage = tensor.untyped_storage()
        place = tensor.storage_offset() * tensor.itemsize
        extent = (layout.size, layout.stride) if layout.has_gaps else layout.span
        memory = storage._cdata, place, extent, tensor.dtype, tensor._version
        known = _alive(self._entries.get((memory, kind)))
        if known is not None:
            return known
        run = layout.run(tensor)
        host = run.cpu()
        payload = self._payload(host, kind)
        self.totals.tensors[type(payload).__name__.lower()] += 1
        if _alive(self._memories.get(memory)) is None:
            self.totals.raw_bytes += run.nbytes
        self.totals.stored_bytes += payload.nbytes
        # Without elements of its own, so that it keeps no memory.
        probe = tensor.detach()
        probe.data = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        # A weak reference keeps the address of a storage from being used for another.
        entry = _Entry(payload, StorageWeakRef(storage), probe, tensor._version)
        self._entries[memory, kind] = self._memories[memory] = entry
        return entry

    def _payload(self, run: torch.Tensor, kind: str) -> Lossless | Lossy | Mask:
        if kind == "mask":
            return Mask.of(run)
        if kind == "lossy":
            try:
                return Lossy.of(run, self.bound)
            except ValueError:  # these elements have no relative bound
                return Lossless.of(run)
        return Lossless.of(run)

    def _kind(self, tensor: torch.Tensor) -> str:
        """How to store what the running function saves."""
        if self._call is None or not has_bound(tensor.dtype):
            return "lossless"
        function, arguments = self._call
        if function in _RELUS:
            return "mask"
        given, weight = arguments
        if _storage(tensor) == _storage(given):
            return "lossy"
        # Autocast gives the product a copy of its input.
        is_cast = tensor.numel() == given.numel() != weight.numel()
        return "lossy" if is_cast and _storage(tensor) != _storage(weight) else "lossless"

    def _unpack(self, saved: _Handle | _Kept) -> torch.Tensor:
        if isinstance(saved, _Kept):
            if saved.tensor._version != saved.version:
                raise RuntimeError(
                    f"A saved tensor of shape {tuple(saved.tensor.shape)} was changed in place "
                    f"since the forward pass: version {saved.tensor._version}, expected "
                    f"{saved.version}"
                )
            return saved.tensor
        entry = saved.entry
        if torch.is_grad_enabled() and not isinstance(entry.payload, Lossless):
            raise RuntimeError(
                "Second derivatives (create_graph=True) need all values: use SavedTensors() "
                "without an error bound"
            )
        if entry.probe._version != entry.version and not entry.has_warned:
            entry.has_warned = True
            warnings.warn(
                f"A saved tensor of shape {saved.layout.size} was changed in place since the "
                "forward pass; the gradient uses its values from before (PyTorch alone raises "
                "an error)",
                RuntimeWarning,
                stacklevel=2,
            )
        return saved.layout.restore(entry.payload.run().to(saved.device))


class _Calls(TorchFunctionMode):
    """Tells which function is running."""

    def __init__(self, saved: SavedTensors):
        super().__init__()
        self.saved = saved

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        before = self.saved._call
        if function in _RELUS:
            self.saved._call = function, ()
        elif function in _PRODUCTS:
            names = ("input", "weight")
            given = [*args[:2], *(kwargs[name] for name in names[len(args[:2]) :])]
            self.saved._call = function, given
        try:
            return function(*args, **kwargs)
        finally:
            self.saved._call = before


def _alive(entry: _Entry | None) -> _Entry | None:
    """An entry whose tensor's memory has not been freed since."""
    return None if entry is None or entry.storage.expired() else entry


def _has_no_words(tensor: torch.Tensor) -> bool:
    """Whether a tensor has no elements in memory that are words."""
    is_strided = tensor.layout == torch.strided and not tensor.is_quantized
    is_plain = is_strided and not (tensor.is_meta or tensor.is_conj() or tensor.is_neg())
    return not is_plain or tensor.numel() == 0


def _is_parameter(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a parameter, a view of one or a cast of one."""
    for each in (tensor, tensor._base):
        if isinstance(each, torch.nn.Parameter):
            return True
    node = tensor.grad_fn
    while node is not None and node.name() in _PASSING:
        node = node.next_functions[0][0]
    return isinstance(getattr(node, "variable", None), torch.nn.Parameter)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
