"""Files of the generated engine: Verilog, manifest, C header and register documents."""

import hashlib
import json
from contextlib import ExitStack
from pathlib import Path

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
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
    module. The registers are in ``cdma_regs.h``, ``registers.md`` and ``cdma.rdl``.

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
        When the name is no plain Verilog identifier; when a Verilog file of that name was edited or
        is not of this program; when a file cannot be written.
    """
    stem, module = ("engine", TOP) if name is None else (name, name)
    with refusals_as_user_errors():
        checked_name(module)
    entry = manifest(config, module, with_sources=with_sources)
    table = register_map(config)
    texts = {
        f"{stem}.v": verilog(config, module, with_sources=with_sources),
        f"{stem}.json": json.dumps(entry, indent=2) + "\n",
        "cdma_regs.h": c_header(table),
        "registers.md": markdown(table),
        "cdma.rdl": system_rdl(table),
    }
    folder = Path(folder)
    if not force:
        _refuse_edited(folder / f"{stem}.v", folder / f"{stem}.json")
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


def _refuse_edited(path: Path, described: Path) -> None:
    """Refuse to replace Verilog that is not as its manifest says."""
    if not path.is_file():
        return
    try:
        known = json.loads(described.read_text(encoding="utf-8")).get("verilog_sha256")
    except (OSError, ValueError, AttributeError):
        known = None
    if hashlib.sha256(path.read_bytes()).hexdigest() != known:
        raise UserError(
            f"{path}: is not as it was generated, and would be lost. Rename it, take another "
            f"folder, or --force to replace"
        )
