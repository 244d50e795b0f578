"""Files of generated hardware: Verilog, manifests, and a test bench for both units."""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import make_folder, replacing
from cdma.hdl.codecs import UnitConfig
from cdma.hdl.emit import manifest, module_name, roundtrip, verilog
from cdma.hdl.emit.template import TOP

UNITS = ("compressor", "decompressor")


@dataclass(frozen=True)
class Written:
    """What :func:`write` wrote.

    Attributes
    ----------
    manifests : dict of str to dict
        By unit.
    paths : list of Path
        All files.
    lines : list of str
        A line on each unit, for the user.
    """

    manifests: dict[str, dict]
    paths: list[Path]
    lines: list[str]


def write(
    folder: str | Path,
    config: UnitConfig,
    units: tuple[str, ...] = UNITS,
    *,
    name: str | None = None,
    prefix: str | None = None,
    with_sources: bool = False,
    with_template: bool = False,
    force: bool = False,
) -> Written:
    """Write Verilog and manifest of units into a folder: all files, or none.

    Without a name or a prefix the files are ``compressor.v`` and so on, the modules
    ``cdma_compressor`` and so on; with one of them the files are called as the modules.

    Parameters
    ----------
    folder : path
        Made when it is missing.
    config : UnitConfig
        Size of the units.
    units : tuple of str
        Which units.
    name : str or None
        Name of the top module of a single unit; the names of all its modules begin with it.
    prefix : str or None
        Begins the names of all modules, the bench's too: ``<prefix>_compressor``.
    with_sources : bool
        See :func:`cdma.hdl.emit.verilog`.
    with_template : bool
        Write a test bench too that connects both units, ``roundtrip_tb.sv``.
    force : bool
        Replace what is in the folder whatever it is.

    Raises
    ------
    UserError
        When a name is no plain Verilog identifier, or the options exclude each other; when the
        folder has the same module, or its partner, at another size, or another unit of that name;
        when a file was edited or is not of this program; when a file cannot be written.
    """
    modules = _modules(units, name, prefix)
    if config.constants.get("s_zero"):
        raise UserError("The zero value comes from s_zero with a zero port: leave --zero-value out")
    if with_template and set(units) != set(UNITS):
        raise UserError("The test bench connects both units: generate both")
    if with_template and config.has_options:
        raise UserError("The test bench is for units without options: leave --template out")
    texts, manifests = {}, {}
    for unit, module in modules.items():
        stem = unit if module is None else module_name(unit, module)
        texts[f"{stem}.v"] = verilog(unit, config, module, with_sources=with_sources)
        manifests[unit] = manifest(unit, config, module, with_sources=with_sources)
        texts[f"{stem}.json"] = json.dumps(manifests[unit], indent=2) + "\n"
    if with_template:
        bench = TOP if prefix is None else f"{prefix}_{TOP}"
        texts[f"{bench}.sv"] = roundtrip(config, **modules, name=bench)
    folder = Path(folder)
    if not force:
        _refuse_others(folder, manifests, texts)
    folder = make_folder(folder)
    with ExitStack() as files:
        for file, text in texts.items():
            temporary = files.enter_context(replacing(folder / file))
            temporary.write_text(text, encoding="utf-8", newline="\n")
    lines = [
        f"{unit} {config.name}: {_size(config)}, {config.beat_bytes} bytes a cycle, "
        f"latency {entry['latency_cycles']} cycles"
        for unit, entry in manifests.items()
    ]
    return Written(manifests, [folder / file for file in texts], lines)


def _modules(units, name, prefix):
    """Names of the modules, by unit; ``None`` is the default name."""
    if prefix == "":
        raise UserError("--prefix is empty: give a name, or leave it out")
    if name is not None and (prefix is not None or len(units) > 1):
        raise UserError("A name is for one unit, without a prefix; give a prefix for both units")
    modules = {
        unit: name if name is not None else f"{prefix}_{unit}" if prefix is not None else None
        for unit in units
    }
    with refusals_as_user_errors():
        for unit, module in modules.items():
            module_name(unit, module)
    return modules


def _size(config):
    if config.parts:
        return f"words of {', '.join(part.type for part in config.parts.values())}"
    fmt = config.format
    return f"{config.lanes} lanes of {fmt.word_bits} bits, blocks of {fmt.block_words} words"


def _refuse_others(folder, manifests, texts):
    """Refuse to mix sizes in a folder, and to replace what was edited there."""
    there = _manifests_in(folder)
    made_here = {entry.get("verilog_sha256") for entry in there.values()}
    families = {_family(entry) for entry in manifests.values()}
    config = next(iter(manifests.values()))["config"]
    units = {entry["module"]: unit for unit, entry in manifests.items()}
    for path, entry in there.items():
        if units.get(entry["module"], entry["unit"]) != entry["unit"]:
            raise UserError(
                f"{path}: describes a {entry['unit']} that is called {entry['module']} too. Take "
                f"another name or folder, or --force"
            )
        if _family(entry) in families and entry.get("config") != config:
            raise UserError(
                f"{path}: describes {entry.get('module')} of size {entry.get('config')}, and this "
                f"run writes {config}: units of two sizes do not fit together. Take another "
                f"folder, or --prefix for other names, or --force to replace"
            )
    for file, text in texts.items():
        path = folder / file
        if path.suffix == ".json" or not path.is_file():
            continue
        content = path.read_bytes()
        is_ours = hashlib.sha256(content).hexdigest() in made_here or content == text.encode()
        if not is_ours:
            raise UserError(
                f"{path}: is not as it was generated, and would be lost. Rename it, take another "
                f"folder, or --force to replace"
            )


def _manifests_in(folder):
    found = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(entry, dict) and "module" in entry and entry.get("unit") in UNITS:
            found[path] = entry
    return found


def _family(entry):
    """What the modules of units that belong together begin with."""
    return str(entry.get("module")).removesuffix(f"_{entry['unit']}")
