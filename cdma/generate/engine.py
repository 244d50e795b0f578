"""Files of the generated engine: Verilog, manifest, C header and register documents."""

import hashlib
import json
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, reason_of, refusals_as_user_errors
from cdma.files import make_folder, replacing
from cdma.generate.files import Written
from cdma.hdl.emit.engine import TOP, manifest, verilog
from cdma.hdl.emit.registers import c_header, markdown, system_rdl
from cdma.hdl.emit.verilog import checked_name
from cdma.hdl.engine.registers import register_map
from cdma.tables import counted


def write_engine(
    folder: str | Path,
    config: EngineConfig,
    name: str | None = None,
    *,
    with_sources: bool = False,
    force: bool = False,
) -> Written:
    """Write the engine and what describes it into a folder: all files, or none.

    Without a name the files are ``engine.v`` and ``engine.json``; with one they are called as the
    module. The registers are in ``cdma_regs.h``, ``registers.md`` and ``cdma.rdl``, whatever the
    name: two sizes need two folders. The manifest has two fields more than that of
    :func:`cdma.hdl.emit.engine.manifest`: ``file_sha256``, checksums of the register files by name,
    and ``manifest_sha256``, that of the manifest itself as it is without this field.

    Parameters
    ----------
    folder : path
        Made when it is missing.
    config : EngineConfig
        Size of the engine.
    name : str or None
        Name of the top module, which the names of all modules begin with; ``None`` is
        ``cdma_engine``.
    with_sources : bool
        See :func:`cdma.hdl.emit.engine.verilog`.
    force : bool
        Replace what is in the folder whatever it is.

    Raises
    ------
    UserError
        When the name is no plain Verilog identifier; when a file that would change was edited, is
        of another engine or size, or is not of this program; when a file cannot be written.
    """
    stem, module = ("engine", TOP) if name is None else (name, name)
    with refusals_as_user_errors():
        checked_name(module)
    table = register_map(config)
    registers = {
        "cdma_regs.h": c_header(table),
        "registers.md": markdown(table),
        "cdma.rdl": system_rdl(table),
    }
    folder = Path(folder)
    described = folder / f"{stem}.json"
    there = {} if force else _manifest_in(described)
    if not force and described.is_file():
        _refuse_other(described, there, module, config)
    entry = manifest(config, module, with_sources=with_sources)
    entry["file_sha256"] = {file: _sha256(text) for file, text in registers.items()}
    entry["manifest_sha256"] = _sha256(_json(entry))
    texts = {
        f"{stem}.v": verilog(config, module, with_sources=with_sources),
        f"{stem}.json": _json(entry),
        **registers,
    }
    if not force:
        _refuse_losses(folder, stem, texts, there)
    folder = make_folder(folder)
    with ExitStack() as files:
        for file, text in texts.items():
            temporary = files.enter_context(replacing(folder / file))
            temporary.write_text(text, encoding="utf-8", newline="\n")
    line = (
        f"engine {config.name}: {counted(config.channels, 'channel')} of "
        f"{config.beat_bytes} bytes a cycle, "
        f"link of {config.link_bytes} bytes a cycle, stripes of {config.stripe_bytes} bytes"
        + (f", ZVC+ of {config.type}" if config.is_plus else "")
    )
    return Written({"engine": entry}, [folder / file for file in texts], [line])


def _json(entry: dict) -> str:
    return json.dumps(entry, indent=2) + "\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_losses(folder: Path, stem: str, texts: dict[str, str], there: dict) -> None:
    """Refuse to replace what is no unedited file of the run that the manifest ``there`` is of."""
    replaced = {}
    for file, text in texts.items():
        content = _content(folder / file)
        if content not in (None, text.encode()):
            replaced[file] = hashlib.sha256(content).hexdigest()
    described = f"{stem}.json"
    known = {f"{stem}.v": there.get("verilog_sha256"), described: replaced.get(described)}
    if isinstance(there.get("file_sha256"), dict):  # not of the first versions
        known |= there["file_sha256"]
    for file, checksum in replaced.items():
        if known.get(file) != checksum:
            raise _loss(folder / file)


def _refuse_other(path: Path, there: dict, module: str, config: EngineConfig) -> None:
    """Refuse a manifest that was edited, or describes something else than this engine."""
    if there.get("unit") != "engine":
        raise _loss(path)
    if there.get("module") != module:
        raise UserError(
            f"{path}: describes an engine that is called {there.get('module')}, and this run "
            f"writes {module}. Take another name or folder, or --force to replace"
        )
    try:
        size = EngineConfig(**there.get("parameters", {}))  # an older version may have fewer
    except (TypeError, ValueError):
        size = None
    if size != config:
        raise UserError(
            f"{path}: describes {module} of another size: {there.get('config')}, and this run "
            f"writes {config.name}{_difference(size, config)}. Take another folder, or --force to "
            f"replace"
        )
    text = _json({name: value for name, value in there.items() if name != "manifest_sha256"})
    if there.get("manifest_sha256", _sha256(text)) != _sha256(text):
        raise _loss(path)


def _difference(size: EngineConfig | None, config: EngineConfig) -> str:
    """The first parameter that differs, where the names of both sizes are the same."""
    if size is None or size.name != config.name:
        return ""
    old, new = asdict(size), asdict(config)
    name = next(name for name in new if old[name] != new[name])
    return f" ({name} {old[name]} and {new[name]})"


def _manifest_in(path: Path) -> dict:
    """The manifest in a file; empty when there is none."""
    try:
        found = json.loads(_content(path) or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _content(path: Path) -> bytes | None:
    """What a file holds; ``None`` without a file."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError as error:
        raise UserError(f"{path}: cannot read what is there ({reason_of(error)})") from None


def _loss(path: Path) -> UserError:
    return UserError(
        f"{path}: is not as it was generated, or is of another engine, and would be lost. Rename "
        f"it, take another folder, or --force to replace"
    )
