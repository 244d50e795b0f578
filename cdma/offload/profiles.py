"""How well tensors compress: sizes of windows of real tensors through the golden codec."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.golden.engine import offload
from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import quantise
from cdma.offload.tensors import Tensor
from cdma.study.algorithms.registry import ALGORITHMS, Subject
from cdma.study.metadata import Metadata
from cdma.study.source import described
from cdma.tensors.load import load_tensor

#: Codecs beside zero-value compression, by name of the study's algorithm.
OTHERS = {"rl": "rl", "zl": "zlib4k"}
CODECS = ("zv", *OTHERS)


@dataclass(frozen=True, eq=False)
class Profile:
    """Compressed over raw bytes of the windows of a tensor.

    Parameters
    ----------
    fractions, weights : ndarray of float64, shape (windows,)
        Fraction of each window, and its share of the raw bytes.
    source : str
        Where it comes from.
    """

    fractions: np.ndarray
    weights: np.ndarray
    source: str

    @staticmethod
    def uniform(ratio: float, source: str) -> "Profile":
        """Every window with the same ratio."""
        return Profile(np.array([1 / ratio]), np.ones(1), source)

    @property
    def fraction(self) -> float:
        """Compressed over raw bytes of the whole."""
        return float(self.fractions @ self.weights)

    @property
    def ratio(self) -> float:
        """Raw over compressed bytes of the whole."""
        return 1 / self.fraction

    def bytes(self, raw: int) -> float:
        """Compressed bytes of a tensor of ``raw`` bytes."""
        return raw * self.fraction

    def mean_of_max(self, per_coded: float, per_raw: float) -> float:
        """Seconds per raw byte when coded and raw bytes pass at these seconds per byte."""
        return float(np.maximum(self.fractions * per_coded, per_raw) @ self.weights)


def dense(config: EngineConfig) -> Profile:
    """Data without zeros: the engine sends stripes as they are, and their index."""
    fraction = 1 + INDEX_BYTES / config.stripe_bytes
    return Profile(np.array([fraction]), np.ones(1), "dense: raw stripes and index")


def measure(array, config: EngineConfig, window: int, source: str = "") -> Profile:
    """Profile of an array in windows of ``window`` bytes: golden stream and index, raw "auto"."""
    raw = np.asarray(array).nbytes
    if not raw:
        raise ValueError("An empty tensor has no profile")
    sent = offload(array, config, raw="auto")
    sizes = (sent.index.view("<u4")[::2] & 0xFFFFFF).astype(float) + INDEX_BYTES
    per = max(1, window // config.stripe_bytes)
    stripes = np.full(len(sizes), config.stripe_bytes, float)
    stripes[-1] = raw - config.stripe_bytes * (len(sizes) - 1)
    starts = np.arange(0, len(sizes), per)
    coded, plain = np.add.reduceat(sizes, starts), np.add.reduceat(stripes, starts)
    return Profile(coded / plain, plain / raw, source)


@dataclass(frozen=True, eq=False)
class _Sample:
    layer: str
    kind: str
    depth: float
    profile: Profile


class Library:
    """Profiles for the tensors of a network, from a folder of tensors.

    Parameters
    ----------
    samples : dict of str to list
        By network.
    fallback : Profile
        For data that is not sparse.
    """

    def __init__(self, samples: dict[str, list[_Sample]], fallback: Profile):
        self._samples, self._dense = samples, fallback

    @staticmethod
    def read(
        arguments: Sequence[str], config: EngineConfig, window: int, codec: str = "zv",
        network: str | None = None, step: float | None = None, bound: Bound | None = None,
    ) -> "Library":  # fmt: skip
        """Measure the fp32 tensors of files and folders, of one stage of training.

        Tensors of other types, such as labels, are left out: :func:`left_out` lists them.

        Parameters
        ----------
        arguments : sequence of str
            Files or folders; a ``manifest.json`` or ``capture.json`` names network and layer.
        config, window
            See :func:`measure`.
        codec : str
            ``"zv"``, ``"rl"``, ``"zl"`` or ``"lossy"``.
        network : str or None
            Only tensors of networks of this family, where there are some.
        step : float or None
            Stage of training; ``None`` is the last of each network.
        bound : Bound or None
            Error bound of the lossy codec.

        Raises
        ------
        UserError
            When no tensor fits, or a tensor has no such bound.
        """
        samples: dict[str, list[_Sample]] = {}
        for name, data in _chosen(arguments, network, step):
            array = load_tensor(name)
            if misfit(name, array) or not array.nbytes:
                continue
            kind = "pool" if data.is_pool else "relu"
            profile = _profile(array, config, window, codec, name, bound)
            samples.setdefault(data.network, []).append(
                _Sample(data.layer, kind, data.position, profile)
            )
        if not samples:
            raise UserError(f"{', '.join(map(str, arguments))}: no float32 tensor in it")
        for key, group in samples.items():
            group.sort(key=lambda sample: sample.depth)
            last = max(len(group) - 1, 1)
            samples[key] = [
                _Sample(each.layer, each.kind, place / last, each.profile)
                for place, each in enumerate(group)
            ]
        return Library(samples, dense(config) if codec == "zv" else Profile.uniform(1, "raw"))

    def of(self, tensor: Tensor) -> Profile:
        """Profile of a tensor: the layer of that name, else the nearest in depth of its kind."""
        if not tensor.is_sparse:
            return self._dense
        every = [sample for group in self._samples.values() for sample in group]
        for sample in every:
            if _plain(sample.layer) == _plain(tensor.name):
                return sample.profile
        same = [sample for sample in every if sample.kind == tensor.kind] or every
        return min(same, key=lambda sample: abs(sample.depth - tensor.depth)).profile


class Uniform:
    """One ratio for every sparse tensor.

    Parameters
    ----------
    ratio : float
    config : EngineConfig
    everything : bool
        Whether dense tensors and the image have it too.
    """

    def __init__(self, ratio: float, config: EngineConfig, everything: bool = False):
        self._profile = Profile.uniform(ratio, f"ratio {ratio:g} given")
        self._dense = self._profile if everything else dense(config)

    def of(self, tensor: Tensor) -> Profile:
        """Profile of a tensor."""
        return self._profile if tensor.is_sparse else self._dense


def _profile(
    array, config: EngineConfig, window: int, codec: str, name: str, bound: Bound | None
) -> Profile:
    if codec == "zv":
        return measure(array, config, window, name)
    if codec == "lossy":
        with refusals_as_user_errors(name):
            stored = quantise(array, bound).stored_bytes
        return Profile.uniform(array.nbytes / stored, name)
    flat = np.ascontiguousarray(array).reshape(-1).view(f"<u{array.dtype.itemsize}")
    sizer = ALGORITHMS[OTHERS[codec]].make(Subject(array.dtype.itemsize, array.nbytes))
    sizer.update(flat)
    fraction = min(sizer.finish() / array.nbytes, 1.0)  # else it is sent as it is
    return Profile(np.array([fraction]), np.ones(1), name)


def _whole_fp32(arguments: Sequence[str]) -> list[tuple[str, Metadata]]:
    found = []
    for name, data in described(arguments):
        is_whole = not data.is_part and data.layout in (None, "NCHW")
        if is_whole and data.format in ("", "fp32"):
            found.append((name, data))
    return found


def _of_stage(items: list[tuple[str, Metadata]], step: float | None) -> list[tuple[str, Metadata]]:
    """Tensors of a stage; of the last of each network when it is ``None``."""
    last: dict[str, float] = {}
    for _, data in items:
        last[data.network] = max(last.get(data.network, -1.0), data.step or 0.0)
    return [
        item
        for item in items
        if (item[1].step or 0.0) == (last[item[1].network] if step is None else step)
    ]


def _chosen(
    arguments: Sequence[str], network: str | None = None, step: float | None = None
) -> list[tuple[str, Metadata]]:
    """Tensors of a stage, of networks of a family only where there are some."""
    listed = _whole_fp32(arguments)
    mine = [item for item in listed if network and _family(item[1].network, network)]
    return _of_stage(mine or listed, step)


def last_stage(arguments: Sequence[str]) -> list[tuple[str, Metadata]]:
    """Names of the whole fp32 tensors in files and folders, of the last stage of each network."""
    return _chosen(arguments)


def misfit(name: str, array: np.ndarray) -> str | None:
    """Why a tensor is not one of the model's activations; ``None`` for float32."""
    found = array.dtype.name
    return None if found == "float32" else f"{name}: its elements are {found}, expected float32"


def left_out(arguments: Sequence[str], network: str | None = None) -> list[str]:
    """A line for each tensor of the last stage that :meth:`Library.read` leaves out for its type.

    Parameters
    ----------
    arguments, network
        See :meth:`Library.read`.
    """
    lines = (misfit(name, load_tensor(name)) for name, _ in _chosen(arguments, network))
    return [line for line in lines if line]


def stages_of(arguments: Sequence[str], network: str) -> list[float]:
    """Stages of training that files hold of a network's family, in their order."""
    listed = _whole_fp32(arguments)
    return sorted({data.step or 0.0 for _, data in listed if _family(data.network, network)})


def _family(measured: str, network: str) -> bool:
    """Whether a measured network, such as vgg-cifar, is of the kind of a network, such as vgg-d."""
    one, other = _plain(measured), _plain(network)
    heads = ("alexnet", "nin", "vgg", "squeezenet11", "squeezenet10", "googlenet", "resnet")
    return one == other or any(one.startswith(head) and other.startswith(head) for head in heads)


def _plain(name: str) -> str:
    text = name.lower().replace("relu_", "").replace("relu", "")
    return "".join(character for character in text if character.isalnum())
