"""Measurements of this project that the model reads, ``docs/measurements`` in the sources."""

from pathlib import Path

_INSTALLED = Path(__file__).parents[1] / "measurements"  # pyproject.toml puts them there
_SOURCES = Path(__file__).parents[2] / "docs" / "measurements"
FOLDER = _INSTALLED if _INSTALLED.is_dir() else _SOURCES
#: Rate, area and latency of units by size.
UNITS = FOLDER / "scaling.json"
#: Energy of units.
POWER = FOLDER / "power.json"
#: What ``examples/lossy_torch.py --save`` measured.
TORCH = FOLDER / "torch.json"
#: Lossy codecs on the sample tensors.
LOSSY = FOLDER / "lossy.json"
#: Codecs on a processor.
CPU = FOLDER / "offload_cpu.json"
