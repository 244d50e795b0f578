"""Generator for FuseSoC: reads what a core asks for, writes Verilog and a core of it.

FuseSoC calls it in an empty folder with the name of a YAML file (generator API 1.0): ``vlnv`` is
the name of the core to write, ``parameters`` are those of ``cdma_generator.core``.
"""

import json
import sys
from dataclasses import fields
from pathlib import Path

import yaml

from cdma.engine_config import ENGINE, EngineConfig
from cdma.errors import UserError, reason_of, refusals_as_user_errors
from cdma.files import check_replaceable, write_text
from cdma.generate.engine import write_engine
from cdma.generate.files import UNITS, write
from cdma.hdl.codecs import config_named

#: Values of ``unit``, and the parameters of each beside ``unit`` and ``prefix``.
OF_UNITS = ("config", "bench")
OF_ENGINE = tuple(field.name for field in fields(EngineConfig))
PARAMETERS = {
    "compressor": OF_UNITS,
    "decompressor": OF_UNITS,
    "both": OF_UNITS,
    ENGINE: OF_ENGINE,
}
FILE_TYPES = {".v": "verilogSource", ".sv": "systemVerilogSource"}


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
    unit, prefix, sizes = _parameters(given)
    file = folder / f"{vlnv.replace(':', '_')}.core"
    check_replaceable(file)
    with refusals_as_user_errors():
        paths = (_write_engine if unit == ENGINE else _write_units)(folder, unit, prefix, **sizes)
    files = [
        {path.name: {"file_type": FILE_TYPES[path.suffix]}}
        for path in paths
        if path.suffix in FILE_TYPES
    ]
    core = {
        "name": vlnv,
        "filesets": {"generated": {"files": files}},
        "targets": {"default": {"filesets": ["generated"]}},
    }
    # FuseSoC reads YAML, of which JSON is a part.
    write_text(file, f"CAPI=2:\n{json.dumps(core, indent=2)}\n")
    return file


def _parameters(given: dict) -> tuple[str, str | None, dict]:
    """Unit, prefix, and what else is given, which the unit has."""
    sizes = dict(given)
    unit, prefix = sizes.pop("unit", "both"), sizes.pop("prefix", None)
    if not isinstance(unit, str) or unit not in PARAMETERS:
        raise UserError(f"unit must be one of {', '.join(PARAMETERS)}, not {unit!r}")
    if not isinstance(prefix, str | None):
        raise UserError(f"prefix must be a text, not {prefix!r}")
    if prefix == "":
        raise UserError("prefix is empty: give a name, or leave it out")
    if unknown := [name for name in sizes if name not in PARAMETERS[unit]]:
        known = ", ".join(("unit", "prefix", *PARAMETERS[unit]))
        raise UserError(f"parameter of unit {unit} must be one of {known}, not {unknown[0]!r}")
    return unit, prefix, sizes


def _write_units(folder, unit, prefix, config="8x32", bench=False) -> list[Path]:
    if not isinstance(bench, bool):  # any text would be true
        raise UserError(f"bench must be true or false without quotes, not {bench!r}")
    units = UNITS if unit == "both" else (unit,)
    options = {"prefix": prefix, "with_template": bench}
    return write(folder, config_named(str(config)), units, **options).paths


def _write_engine(folder, unit, prefix, **sizes) -> list[Path]:
    name = None if prefix is None else f"{prefix}_{unit}"
    return write_engine(folder, EngineConfig(**sizes), name).paths


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
