"""The systems that are compared, by name."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from cdma.errors import UserError
from cdma.offload.compute import WORD
from cdma.offload.moves import Codec, Move, coded_move
from cdma.offload.schemes import asynchronous, narrow, recompute, software, synchronised
from cdma.offload.schemes.step import Event, Step, peak_bytes, with_dram
from cdma.offload.setup import Setup

#: Tensors in flight of the asynchronous baseline, beside the present one.
IN_FLIGHT = 2
_MIB = 1 << 20
_TENSORS = "tensors to compress: give --densities"
_NEEDS = dict.fromkeys(("zv", "rl", "zl"), _TENSORS) | {
    "lossy": "an error bound or a ratio: give --lossy or --lossy-ratio",
    "cpu": "the rate of the codec on the CPU: give --cpu-codec",
}


@dataclass(frozen=True)
class Scheme:
    """A system.

    Parameters
    ----------
    title : str
        How a table calls it.
    run : callable
        Gives the step, the moves and the times' network residence from a ``Setup``.
    kind : str
        bound, published (a published system), or today (a baseline of today).
    needs : str or None
        Codec whose profiles it needs.
    lossless : bool
    """

    title: str
    run: Callable[[Setup], tuple[Step, list[Move]]]
    kind: str
    needs: str | None = None
    lossless: bool = True


@dataclass(frozen=True)
class Result:
    """A step of one system; bytes are of one step, ``link`` is one way."""

    name: str
    scheme: Scheme
    step: Step
    moves: tuple[Move, ...]
    link: float
    peak: float
    pinned: float

    def row(self, oracle: float) -> dict:
        """A row of a table; ``oracle`` is the oracle's time."""
        seconds = self.step.seconds
        return {
            "scheme": self.name,
            "title": self.scheme.title,
            "step_ms": 1e3 * seconds,
            "of_oracle": oracle / seconds,
            "link_mib": self.link / _MIB,
            "peak_mib": self.peak / _MIB,
            "pinned_mib": self.pinned / _MIB,
            "lossless": self.scheme.lossless,
        }


def _chain(setup: Setup, times=None) -> tuple[Event, ...]:
    """The layers one after the other."""
    times, clock, events = times or setup.times, 0.0, []
    ways = (
        (times.forward, times.forward_bytes),
        (times.backward[::-1], times.backward_bytes[::-1]),
    )
    bound = [
        with_dram(seconds, own, 0, setup.dram)
        for way in ways
        for seconds, own in zip(*way, strict=True)
    ]
    layers = setup.features.layers
    names = [layer.name for layer in layers]
    names += [f"{layer.name} backward" for layer in reversed(layers)]
    for name, seconds in zip(names, bound, strict=True):
        events.append(Event("compute", name, clock, clock + seconds))
        clock += seconds
    return tuple(events)


def _oracle(setup: Setup):
    return Step(_chain(setup), tuple(setup.staying([]))), []


def _recompute(setup: Setup):
    network, tensors = setup.features, setup.tensors()
    checkpoints = recompute.checkpoints_of(network, tensors)
    others = [tensor for tensor in tensors if tensor.name not in {c.name for c in checkpoints}]
    resident = [*setup.staying(others), *recompute.resident_of(network, tensors, checkpoints)]
    return Step(_chain(setup, recompute.times_with(network, setup.times)), tuple(resident)), []


def _recompute_async(setup: Setup):
    network, tensors = setup.features, setup.tensors()
    checkpoints = recompute.checkpoints_of(network, tensors)
    sized = {move.tensor.name: move for move in setup.raw()}
    moves = [replace(sized[c.name], tensor=c) for c in checkpoints]
    times = recompute.times_with(network, setup.times)
    step = asynchronous.run(setup.job(moves, times), IN_FLIGHT)
    again = recompute.resident_of(network, tensors, checkpoints)
    return replace(step, resident=(*step.resident, *again)), moves


def _synchronised(moves_of: Callable[[Setup], list[Move]]):
    def run(setup: Setup):
        moves = moves_of(setup)
        step = synchronised.run(setup.job(moves))
        stay = setup.staying([move.tensor for move in moves])
        return replace(step, resident=(*step.resident, *stay)), moves

    return run


def asynchronous_with(moves_of: Callable[[Setup], list[Move]], k: int = IN_FLIGHT):
    """Scheme's function: these moves, with ``k`` tensors in flight."""

    def run(setup: Setup):
        moves = moves_of(setup)
        return asynchronous.run(setup.job(moves), k), moves

    return run


def _zlib(setup: Setup) -> list[Move]:
    return setup.coded("zl", replace(setup.codec, down=setup.zlib, up=setup.zlib))


def _comet(setup: Setup) -> list[Move]:
    """The lossy codec on inputs of convolutions, zero-value compression elsewhere.

    A ReLU keeps a mask of its own, one bit an element: a small value may come back as zero.
    """
    found = []
    for tensor in setup.tensors():
        if not tensor.for_conv:
            found.append(setup.move(tensor, "zv", setup.codec))
            continue
        profile = setup.profiles["lossy"].of(tensor)
        if tensor.kind == "relu":
            profile = replace(profile, fractions=profile.fractions + 1 / (8 * WORD))
        found.append(coded_move(tensor, profile, setup.link, setup.codec))
    return found


def _narrow(bits: int):
    return asynchronous_with(lambda setup: narrow.moves_of(setup, bits))


def _ideal(setup: Setup) -> list[Move]:
    return setup.coded("zl", Codec(window=setup.codec.window))


SCHEMES = {
    "oracle": Scheme("oracle (all memory)", _oracle, "bound"),
    "vdnn-all": Scheme("vDNN all", _synchronised(lambda s: s.raw()), "published"),
    "vdnn-conv": Scheme("vDNN conv", _synchronised(lambda s: s.raw("conv")), "published"),
    "cdma-rl": Scheme("cDMA RL", _synchronised(lambda s: s.coded("rl")), "published", "rl"),
    "cdma-zv": Scheme("cDMA ZV", _synchronised(lambda s: s.coded("zv")), "published", "zv"),
    "cdma-zl": Scheme("cDMA ZL, ideal", _synchronised(_ideal), "published", "zl"),
    "cdma-zl-real": Scheme("cDMA ZL, real", _synchronised(_zlib), "published", "zl"),
    "vdnn++": Scheme("vDNN++", software.vdnn_plus_plus, "published", "cpu"),
    "static": Scheme("static", _synchronised(software.static_moves), "published", "zv"),
    "cswap": Scheme("CSWAP", _synchronised(software.cswap_moves), "published", "zv"),
    "comet": Scheme("COMET", _synchronised(_comet), "published", "lossy", False),
    "async": Scheme("async", asynchronous_with(lambda s: s.raw()), "today"),
    "async-zv": Scheme("async + ZV", asynchronous_with(lambda s: s.coded()), "today", "zv"),
    "recompute": Scheme("recompute", _recompute, "today"),
    "recompute-async": Scheme("recompute + async", _recompute_async, "today"),
    "bf16-async": Scheme("bf16 + async", _narrow(16), "today", None, False),
    "fp8-async": Scheme("fp8 + async", _narrow(8), "today", None, False),
    "bits4": Scheme("4 bits, kept", lambda s: narrow.kept(s, 4, _chain), "today", None, False),
}


def select(setup: Setup, names: list[str] | None = None) -> list[str]:
    """Names to run: those given, or all whose codec was measured.

    Raises
    ------
    UserError
        When a name is unknown or its codec was not measured.
    """
    for name in names or ():
        if name not in SCHEMES:
            raise UserError(f"scheme must be one of {', '.join(SCHEMES)}, not {name!r}")
        if SCHEMES[name].needs not in setup.available:
            raise UserError(f"{name} needs {_NEEDS[SCHEMES[name].needs]}")
    runnable = (name for name, each in SCHEMES.items() if each.needs in setup.available)
    return list(names or runnable)


def results(setup: Setup, names: list[str] | None = None) -> Iterator[Result]:
    """Steps of the systems."""
    for name in select(setup, names):
        scheme = SCHEMES[name]
        step, moves = scheme.run(setup)
        peak = peak_bytes(
            setup.network, setup.features, setup.batch, step.resident, setup.tensors()
        )
        link, pinned = (sum(getattr(move, key) for move in moves) for key in ("link", "host"))
        yield Result(name, scheme, step, tuple(moves), link, peak, pinned)


def rows(setup: Setup, names: list[str] | None = None) -> list[dict]:
    """A row a system, the share of the oracle's speed among its figures."""
    return rows_of(setup, results(setup, names))


def seconds(setup: Setup, name: str) -> float:
    """Step time of one system."""
    return SCHEMES[name].run(setup)[0].seconds


def rows_of(setup: Setup, found: Iterable[Result]) -> list[dict]:
    """Rows of systems that have run on the setup."""
    oracle = seconds(setup, "oracle")
    return [result.row(oracle) for result in found]
