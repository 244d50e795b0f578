"""Results that would replace an input of the same run, or each other, are refused at once."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from cdma.cli.offload.densities import files_from
from cdma.cli.options import liberty_path
from cdma.errors import UserError
from cdma.files import STDIO, refuse_same, refuse_twice
from cdma.tensors.load import MODULES, split

#: Arguments that name files to write. ``index`` is read or written: the conversion checks it.
OUTPUTS = ("output", "csv", "save", "save_baseline", "waves")
#: Arguments that name files to read, always. The verbs of the codec check ``input``; ``baseline``
#: may be replaced by what was measured.
INPUTS = ("tensor", "engine", "times", "add", "verilog")


def refuse_overwrites(args: argparse.Namespace) -> None:
    """Refuse, by a UserError, results that would replace an input, or each other."""
    given = [str(value) for name in OUTPUTS if (value := getattr(args, name, None))]
    outputs = [name for name in given if name != STDIO and not os.path.isdir(name)]
    refuse_twice(*outputs)
    there = [name for name in outputs if os.path.exists(name)]
    read = list(_files_read(args)) if there else []
    for output in there:
        refuse_same(output, *read)


def _files_read(args: argparse.Namespace) -> Iterator[Path]:
    for name in INPUTS:
        yield from map(_file, _names(getattr(args, name, None)))
    if getattr(args, "network", "").endswith(".onnx"):  # else it is no file
        yield Path(args.network)
    if hasattr(args, "liberty") and (library := liberty_path(args)):
        yield Path(library)
        yield from Path(library).glob("*")  # of a folder
    if hasattr(args, "densities"):
        yield from _tensors_and_lists(files_from(args))
    yield from _tensors_and_lists(getattr(args, "files", []))


def _tensors_and_lists(names: list[str]) -> Iterator[Path]:
    """Files of tensors, those in folders, and the lists beside them."""
    from cdma.study.metadata import FILES

    for name in names:
        file = _file(name)
        if not file.is_dir():
            yield file
            yield from (file.parent / each for each in FILES)
            continue
        for each in file.rglob("*"):
            if each.suffix in MODULES or each.name in FILES:
                yield each


def _names(value) -> list[str]:
    """Names that an argument has: none, one or several."""
    if not value:
        return []
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


def _file(name: str) -> Path:
    """File of a name, without the key of a tensor."""
    try:
        return split(name)[0]
    except UserError:  # no file of tensors
        return Path(name)
