"""Generator for FuseSoC: reads what a core asks for, writes Verilog and a core of it.

FuseSoC calls it in an empty folder with the name of a YAML file (generator API 1.0): ``vlnv`` is
the name of the core to write, ``parameters`` are those of ``cdma_generator.core``.
"""

import json
import sys
from pathlib import Path

import yaml

from cdma.errors import UserError, reason_of, refusals_as_user_errors
from cdma.files import check_replaceable, write_text
from cdma.generate.files import write
from cdma.hdl.zvc.config import Config

UNITS = ("compressor", "decompressor")
DEFAULTS = {"unit": "both", "config": "8x32", "prefix": None, "bench": False}


def generate(request: dict, folder: Path) -> Path:
    """Write the files that are asked for into a folder, and give the core that lists them.

    Raises
    ------
    UserError
        When the name of the core is missing, or a parameter is unknown or wrong.
    """
    if not isinstance(request, dict):
        raise UserError("the request must be a mapping with vlnv and parameters")
    vlnv, given = request.get("vlnv"), request.get("parameters") or {}
    if not isinstance(vlnv, str) or not vlnv:
        raise UserError(
            f"vlnv must be the name of the core to write, such as a:b:c:1, not {vlnv!r}"
        )
    if not isinstance(given, dict):
        raise UserError(f"parameters must be a mapping of names to values, not {given!r}")
    if unknown := [name for name in given if name not in DEFAULTS]:
        raise UserError(f"parameter must be one of {', '.join(DEFAULTS)}, not {unknown[0]!r}")
    chosen = DEFAULTS | given
    if chosen["unit"] not in (*UNITS, "both"):
        raise UserError(f"unit must be compressor, decompressor or both, not {chosen['unit']!r}")
    if not isinstance(chosen["bench"], bool):  # any text would be true
        raise UserError(f"bench must be true or false without quotes, not {chosen['bench']!r}")
    if not isinstance(chosen["prefix"], str | None):
        raise UserError(f"prefix must be a text, not {chosen['prefix']!r}")
    file = folder / f"{vlnv.replace(':', '_')}.core"
    check_replaceable(file)
    units = UNITS if chosen["unit"] == "both" else (chosen["unit"],)
    with refusals_as_user_errors():
        config = Config.parse(str(chosen["config"]))
        options = {"prefix": chosen["prefix"], "with_template": chosen["bench"]}
        paths = write(folder, config, units, **options).paths
    kinds = {".v": "verilogSource", ".sv": "systemVerilogSource"}
    files = [
        {path.name: {"file_type": kinds[path.suffix]}} for path in paths if path.suffix in kinds
    ]
    core = {
        "name": vlnv,
        "filesets": {"generated": {"files": files}},
        "targets": {"default": {"filesets": ["generated"]}},
    }
    # FuseSoC reads YAML, of which JSON is a part.
    write_text(file, f"CAPI=2:\n{json.dumps(core, indent=2)}\n")
    return file


def read(path: str) -> dict:
    """The request in a YAML file.

    Raises
    ------
    UserError
        When it cannot be read, or is no YAML.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(reason_of(error).split())
        raise UserError(f"{path}: cannot read this request, expected YAML ({reason})") from None


def main(argv: list[str]) -> int:
    """Exit status: 0 written, 2 wrong input."""
    try:
        if len(argv) != 1:
            raise UserError("expected one argument, the YAML file of the request")
        generate(read(argv[0]), Path())
    except UserError as error:
        print(f"cdma: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
