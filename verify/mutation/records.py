"""Mutants of units and of the engine, one record for each."""

from cdma.hdl.codecs import UnitConfig
from cdma.progress import timed
from cdma.verify.mutation import campaign, report
from cdma.verify.mutation.engine import campaign as engine
from cdma.verify.mutation.mutants import ENGINE


def records(
    configs: dict[str, UnitConfig], count: int, seed: int, sample: int | None, where: dict
) -> list[dict]:
    """Make mutants of each unit and play them.

    Parameters
    ----------
    configs : dict
        Size of each unit; of the engine, lanes and word bits count.
    count, seed : int
        Mutants of each unit, and the seed of mutants and stimulus.
    sample : int or None
        Mutants of the engine to play.
    where : dict
        ``jobs`` and ``scheduler`` of :func:`cdma.sweep.sweep`.

    Returns
    -------
    list of dict
        See :func:`cdma.verify.mutation.report.record`.
    """
    found = []
    for unit, config in configs.items():
        if unit == ENGINE:
            small = engine.small_engine(config.lanes, config.format.word_bits)
            how = {**where, "sample": sample, "progress": timed(small.name)}
            outcome = engine.mutate(small, count, seed, **how)
            found.append(engine.record(outcome, seed, count))
        else:
            how = {**where, "progress": timed(f"{unit} {config.name}")}
            outcome = campaign.mutate(unit, config, count, seed, **how)
            found.append(report.record(outcome, seed))
    return found
