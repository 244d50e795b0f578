"""Draws the pictures of the documents: ``python docs/draw [DIR]``, into docs/images by default.

Without ``DIR`` it also fills in the tables of docs/performance.md and docs/verification.md.
"""

import sys
from pathlib import Path

import butterfly
import datapath
import performance
import tables
import timing
import verification

PICTURES = {
    "datapath": datapath.draw,
    "butterfly": butterfly.draw,
    "compressor-timing": timing.draw_compressor,
    "decompressor-timing": timing.draw_decompressor,
}
if (tables.MEASUREMENTS / "scaling.json").exists():
    PICTURES["performance-scaling"] = performance.draw

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "images"
folder.mkdir(parents=True, exist_ok=True)
for name, draw in PICTURES.items():
    (folder / f"{name}.svg").write_text(draw(), encoding="utf-8", newline="\n")
if len(sys.argv) == 1:
    for document in (performance, verification):
        page = Path(__file__).parents[1] / f"{document.__name__}.md"
        text = document.fill(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8", newline="\n")
