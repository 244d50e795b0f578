"""Writes what a release carries, the same bytes each time: ``python integration/release DIR``.

Wheel, source distribution, Verilog with its manifests, changelog, and ``SHA256SUMS`` over all of
them. The Verilog is that of both codecs' named configurations, of ZVC+ those without repeats, and
of the engine with 1 to 8 channels, with its registers and its driver in C: others are generated
with the wheel. Everything is made from the last commit; changes that are not committed are refused.
All times are that commit's (``SOURCE_DATE_EPOCH``), and constraints.txt pins the tools that build.
"""

import argparse
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from cdma.engine_config import CHANNELS, EngineConfig
from cdma.errors import UserError
from cdma.files import make_folder
from cdma.generate.engine import write_engine
from cdma.generate.files import UNITS, write
from cdma.hdl.zvc.config import NAMED
from cdma.hdl.zvcplus.config import NAMED as PLUS_NAMED

ROOT = Path(__file__).parents[2]
#: The driver in C; its registers are those of each engine.
DRIVER = ("cdma.c", "cdma.h")


def release(output: Path) -> list[Path]:
    """Write a release into a folder.

    Parameters
    ----------
    output : Path
        Missing or empty.

    Returns
    -------
    list of Path
        The files, ``SHA256SUMS`` last.

    Raises
    ------
    UserError
        When the folder is a file or not empty, a change is not committed, or a tool fails.
    """
    make_folder(output)
    if any(output.iterdir()):
        raise UserError(f"{output}: the folder is not empty")
    if changes := _run("git", "status", "--porcelain", cwd=ROOT):
        raise UserError(f"{len(changes.splitlines())} changes are not committed; commit them first")
    epoch = int(_run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder, "sources")
        archive = Path(folder, "sources.tar")
        _run("git", "-c", "tar.umask=022", "archive", "-o", archive, "HEAD", cwd=ROOT)
        with tarfile.open(archive) as packed:
            packed.extractall(sources, filter="tar")
        _build(sources, output, epoch)
        (output / "CHANGELOG.md").write_bytes((sources / "CHANGELOG.md").read_bytes())
    _verilog(output, epoch)
    files = sorted(output.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (output / "SHA256SUMS").write_text("".join(sums))
    return [*files, output / "SHA256SUMS"]


def _build(sources: Path, output: Path, epoch: int) -> None:
    """Wheel and source distribution."""
    pinned = {"PIP_CONSTRAINT": str(sources / "constraints.txt"), "SOURCE_DATE_EPOCH": str(epoch)}
    command = [sys.executable, "-m", "build", "--outdir", output, sources]
    _run(*command, cwd=sources, env=os.environ | pinned)
    (sdist,) = output.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:  # setuptools writes the time of the build into it
        members = {
            member.name: packed.extractfile(member).read()
            for member in packed.getmembers()
            if member.isfile()
        }
    _pack(sdist, members, epoch)


def _verilog(output: Path, epoch: int) -> None:
    """Units and engines, a folder of each size, packed as ``cdma-verilog-VERSION.tar.gz``."""
    from cdma import __version__

    name = f"cdma-verilog-{__version__}"
    with tempfile.TemporaryDirectory() as folder:
        plus = [config for config in PLUS_NAMED.values() if not config.has_repeats]
        for config in (*NAMED.values(), *plus):
            write(Path(folder, config.name), config, UNITS)
        for channels in CHANNELS:
            config = EngineConfig(channels)
            write_engine(Path(folder, f"engine-{config.name}"), config)
        members = {
            f"{name}/{path.relative_to(folder)}": path.read_bytes()
            for path in Path(folder).rglob("*")
            if path.is_file()
        }
    members[f"{name}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    for file in DRIVER:
        members[f"{name}/driver/{file}"] = (ROOT / "cdma" / "driver" / "c" / file).read_bytes()
    _pack(output / f"{name}.tar.gz", members, epoch)


def _pack(file: Path, members: dict[str, bytes], epoch: int) -> None:
    """A ``.tar.gz`` in which only names and contents of files differ from any other."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for name, content in sorted(members.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), epoch, 0o644
            packed.addfile(info, io.BytesIO(content))
    with file.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=epoch) as packed:
        packed.write(plain.getvalue())


def _run(*command, **options) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        complaint = (done.stderr + done.stdout).strip().splitlines()[-1:]
        raise UserError(f"{' '.join(words[:3])} failed: {''.join(complaint)}")
    return done.stdout


def main(argv: list[str]) -> int:
    """Exit status: 0 written, 2 wrong input, a tool fails."""
    parser = argparse.ArgumentParser(
        prog="python integration/release",
        description=__doc__,
        epilog="example: python integration/release dist",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder for all files")
    options = parser.parse_args(argv)
    try:
        print("wrote", ", ".join(map(str, release(options.folder))))
    except UserError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
