"""Draws the pictures of the documents: ``python docs/draw [DIR]``, into docs/images by default.

Without ``DIR`` it also fills in the tables of README.md and of the pages that have measurements.
"""

import sys
from pathlib import Path

import butterfly
import choosing
import datapath
import engine
import performance
import readme
import saved
import system
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

#: Pages with tables, and what fills them in.
PAGES = {
    readme.PAGE: readme.fill,
    choosing.PAGE: choosing.fill,
    verification.PAGE: verification.fill,
    engine.PAGE: engine.fill,
    saved.PAGE: saved.fill,
    system.PAGE: system.fill,
    **dict.fromkeys(performance.PAGES, performance.fill),
}


def main() -> None:
    """Draw the pictures, and fill in the tables where they go into the documents."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8", newline="\n")
    if len(sys.argv) > 1:
        return
    for page, fill in PAGES.items():
        text = fill(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
