"""Mutants of units and of the engine, one record for each."""

from cdma.hdl.codecs import UnitConfig
from cdma.progress import timed
from cdma.toolchain.cache import cache_folder
from cdma.verify.mutation import campaign, report
from cdma.verify.mutation.engine import campaign as engine
from cdma.verify.mutation.mutants import ENGINE
from cdma.verify.proofs.engine_mutants import with_proofs


def records(
    configs: dict[str, UnitConfig],
    count: int,
    seed: int,
    sample: int | None,
    where: dict,
    *,
    has_proofs: bool = False,
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
    has_proofs : bool
        Put what no trial kills of the engine's mutants to the proofs of its components.

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
            record = engine.record(outcome, seed, count)
            if has_proofs:
                how["progress"](f"putting {record['open']} survivors to the proofs")
                drawn = engine.draw(small, count, seed, cache_folder(None, "mutation"))
                record = with_proofs(record, drawn, **where)
            found.append(record)
        else:
            how = {**where, "progress": timed(f"{unit} {config.name}")}
            outcome = campaign.mutate(unit, config, count, seed, **how)
            found.append(report.record(outcome, seed))
    return found
