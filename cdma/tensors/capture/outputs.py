"""Record outputs of ReLU and pooling, as modules or functions, in a PyTorch forward pass."""

import re
from collections.abc import Callable

from torch import Tensor
from torch.nn import Module
from torch.overrides import TorchFunctionMode

_RELU = {"relu", "relu_", "relu6"}
_POOL = re.compile(r"(adaptive_|fractional_)?(max|avg|lp)_pool[123]d(_with_indices)?")
#: Functions of the layers before a ReLU, by kind.
_SUMS = {"conv": re.compile(r"conv(_transpose)?[123]d"), "fc": re.compile("linear")}


class Outputs(TorchFunctionMode):
    """Context that passes every output of ReLU and pooling on this thread to a function.

    PyTorch's function overrides find ``nn.ReLU``, ``nn.ReLU6``, ``F.relu`` and ``x.relu()``. They
    do not find functions in a model that is compiled by ``torch.compile`` or TorchScript.

    Parameters
    ----------
    model : Module
        Model that gives the names of the layers. The name is the name of the module, as in
        ``features.3``, or the name of the calling module and of the function, as in ``block.relu``.
        If a name occurs again, a number is added: ``block.relu_2``.
    take : callable
        Called with name, kind and tensor of each output, before the output can be overwritten. The
        kind of a ReLU is ``"conv+relu"`` or ``"fc+relu"``, by the last such layer, or ``"relu"``
        without such a layer. The other kind is ``"pool"``.
    """

    def __init__(self, model: Module, take: Callable[[str, str, Tensor], None]):
        super().__init__()
        self._model = model
        self._take = take
        self._path = [("", False)]
        self._given = set()
        self._sum = ""

    def __enter__(self):
        self._hooks = []
        for name, module in self._model.named_modules():
            self._hooks += [
                module.register_forward_pre_hook(self._entered(name)),
                module.register_forward_hook(self._left, always_call=True),
            ]
        return super().__enter__()

    def __exit__(self, *error):
        for hook in self._hooks:
            hook.remove()
        return super().__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        name = getattr(function, "__name__", "")
        if name in _RELU or (name == "hardtanh" and kwargs.get("min_val") == 0):  # nn.ReLU6
            self._give(name.strip("_"), f"{self._sum}relu", result)
        elif _POOL.fullmatch(name):
            self._give(name.removesuffix("_with_indices"), "pool", result)
        else:
            for kind, pattern in _SUMS.items():
                if pattern.fullmatch(name):
                    self._sum = f"{kind}+"
        return result

    def _give(self, function: str, kind: str, result) -> None:
        path, is_layer = self._path[-1]
        name = path if path and is_layer else f"{path}.{function}".lstrip(".")
        unique, number = name, 1
        while unique in self._given:
            number += 1
            unique = f"{name}_{number}"
        self._given.add(unique)
        self._take(unique, kind, result[0] if isinstance(result, tuple) else result)

    def _entered(self, name: str) -> Callable:
        def hook(module, inputs):
            # PyTorch's own layers call one function; a user's module may call several.
            self._path.append((name, type(module).__module__.startswith("torch.nn.")))

        return hook

    def _left(self, module, inputs, outputs) -> None:
        self._path.pop()
