"""Measure designs of several sizes. The report in a folder is updated after each design."""

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import make_folder, write_text
from cdma.format import Format
from cdma.hdl.codecs import UnitConfig, config_named
from cdma.hdl.zvc.config import Config
from cdma.synth.alternatives import catalogue
from cdma.synth.flow import engine, measure, plot, report, scaling
from cdma.synth.flow.measure import Design
from cdma.synth.liberty import read
from cdma.toolchain.opensta import opensta
from cdma.toolchain.steps import Steps
from cdma.toolchain.yowasp import yosys


class Measured(NamedTuple):
    """Results of a campaign, in the order of the parameters of a report's functions.

    Attributes
    ----------
    records : list of dict
        From :func:`cdma.synth.flow.measure.measure_each`; those of an engine's parts follow it.
    notes : list of str
        Missing figures, with the reasons.
    tools : dict of str to str
        Version of each tool, by name.
    """

    records: list[dict]
    notes: list[str]
    tools: dict[str, str]


def sizes(
    names: Sequence[str] | None = None,
    lanes: int | None = None,
    word_bits: int | None = None,
    block_words: int | None = None,
    *,
    pair: Sequence[str] | None = None,
    is_sweep: bool = False,
    plus: UnitConfig | None = None,
) -> list[UnitConfig]:
    """Configurations of a campaign, described in one of four ways.

    Parameters
    ----------
    names : sequence of str, optional
        Names such as ``8x32``.
    lanes, word_bits, block_words : int, optional
        One size in numbers. The default is 8 lanes of 32 bits.
    pair : sequence of str, optional
        Names of two sizes to compare.
    is_sweep : bool
        All of :func:`cdma.synth.flow.scaling.sweep`.
    plus : UnitConfig, optional
        One size of ZVC+.

    Raises
    ------
    UserError
        When a size is invalid, or described in two ways.
    """
    has_numbers = bool(plus) or any(each is not None for each in (lanes, word_bits, block_words))
    if is_sweep and pair:
        raise UserError("give either --sweep or --compare, not both")
    if is_sweep or pair:
        if names or has_numbers:
            whole = "--sweep has its own sizes" if is_sweep else "--compare names both sizes"
            raise UserError(f"{whole}: leave --config, --lanes and the like out")
        if is_sweep:
            return scaling.sweep()
        if pair[0] == pair[1]:
            raise UserError(f"--compare takes two sizes, not {pair[0]} twice")
    if plus:
        if names:
            raise UserError("give either --config or --codec, not both")
        return [plus]
    if names and has_numbers:
        numbers = "--lanes, --word-bits and --block-words"
        raise UserError(f"give either --config or {numbers}, not both")
    with refusals_as_user_errors():
        if pair or names:
            return [config_named(name) for name in pair or dict.fromkeys(names)]
        fmt = Format(32 if word_bits is None else word_bits, block_words)
        return [Config(8 if lanes is None else lanes, fmt)]


def run(
    output: str | os.PathLike,
    steps: Steps,
    configs: Sequence[UnitConfig],
    units: Collection[str] | None,
    *,
    liberty: str | os.PathLike | None = None,
    targets: Sequence[str] = ("ecp5",),
    is_sweep: bool = False,
    **options,
) -> Measured:
    """Measure designs, and write ``synth.json`` and ``synth.md`` after each design.

    Parameters
    ----------
    output : path
        Folder of the report, created if missing. Several sizes are also plotted.
    steps : Steps
        Runs the tools.
    configs : sequence of UnitConfig, of EngineConfig for the engine
        Sizes. Units are measured in each ``UnitConfig``, the engine in each ``EngineConfig``.
    units : collection of str or None
        Units to measure. ``None`` for the alternatives of :mod:`cdma.synth.alternatives.catalogue`.
    liberty : path, optional
        Library of cells to map onto. If OpenSTA is installed, the critical path is measured.
    targets : sequence of str
        FPGAs, keys of :data:`TARGETS <cdma.synth.flow.measure.TARGETS>`. A unit that does not fit
        into another FPGA than ECP5 is a note.
    is_sweep : bool
        If a tool fails, add a note and continue. Map onto cells only with ABC's default script.
    **options
        ``seeds``, ``jobs`` and ``scheduler`` of :func:`cdma.synth.flow.measure.measure_each`.

    Raises
    ------
    UserError
        When there is nothing to measure, a tool is missing, or a tool fails outside a sweep.
    """
    library = None if liberty is None else read(liberty)
    if not targets and library is None:
        raise UserError("nothing to measure: --no-ecp5 and no --liberty FILE or CDMA_LIBERTY")
    measured = Measured([], *_tools(targets, with_cells=library is not None))
    for note in measured.notes:
        print(note, file=sys.stderr)
    folder = make_folder(output)
    for record in measure.measure_each(
        _designs(configs, units, steps),
        steps,
        targets=targets,
        liberty=library,
        with_timing="OpenSTA" in measured.tools,
        flows=["abc"] if is_sweep else None,
        on_failure=measured.notes.append if is_sweep or set(targets) - {"ecp5"} else None,
        **options,
    ):
        measured.records.append(record)
        if record["unit"] == measure.ENGINE:
            measured.records.extend(engine.part_records(record))
        # A campaign may take hours: after an interruption, the report has all results up to here.
        write_text(folder / "synth.json", report.as_json(*measured))
        write_text(folder / "synth.md", report.markdown(*measured))
    print(f"wrote {folder / 'synth.md'} and {folder / 'synth.json'}", file=sys.stderr)
    steps.announce(f"done: {steps.ran} steps run, {steps.found} kept from before")
    units = [each for each in measured.records if not each["unit"].startswith(measure.ENGINE)]
    plotted = [each for each in units if each["ecp5"] or each["asic"]]
    if len({record["config"] for record in plotted}) > 1:
        plot.draw(plotted, folder)
    return measured


def _tools(targets: Sequence[str], with_cells: bool) -> tuple[list[str], dict[str, str]]:
    """Notes about figures that cannot be measured, and the version of each used tool."""
    notes, used = [], [yosys()]
    used += [tool for target in targets for tool in measure.TARGETS[target].tools()]
    if not with_cells:
        notes.append("no liberty given (--liberty FILE or CDMA_LIBERTY): ASIC columns left out")
    else:
        try:
            used.append(opensta())
        except UserError as error:
            notes.append(f"{error}; critical path left out")
    return notes, {tool.name: tool.version for tool in used}


def _designs(
    configs: Sequence[UnitConfig | EngineConfig], units: Collection[str] | None, steps: Steps
) -> Iterator[Design]:
    for config in configs:
        is_engine = isinstance(config, EngineConfig)
        named = [unit for unit in units or () if (unit == measure.ENGINE) == is_engine]
        if units is not None and not named:
            continue
        steps.announce(f"{config.name}: Verilog")
        if units is None:
            if config.codec != "zvc":
                raise UserError(f"the alternatives are of codec zvc, not of {config.codec}")
            yield from (catalogue.design(name, config) for name in catalogue.COMPONENTS)
        else:
            yield from (measure.generated(unit, config) for unit in named)
