"""Draws the pictures of the documents: ``python docs/draw [DIR]``, into docs/images by default.

Without ``DIR`` it also fills in the tables of README.md and of the pages that have measurements.
"""

import argparse
from pathlib import Path

import choosing
import codecs_page
import engine
import engine_performance
import performance
import pictures.butterfly
import pictures.datapath
import pictures.engine
import pictures.timing
import pictures.zvcplus
import readme
import saved
import system
import tables
import verification

PICTURES = {
    "datapath": pictures.datapath.draw,
    "zvcplus-datapath": pictures.zvcplus.draw,
    "engine-datapath": pictures.engine.draw,
    "butterfly": pictures.butterfly.draw,
    "compressor-timing": pictures.timing.draw_compressor,
    "decompressor-timing": pictures.timing.draw_decompressor,
}
if (tables.MEASUREMENTS / "scaling.json").exists():
    PICTURES["performance-scaling"] = performance.draw
if (tables.MEASUREMENTS / "engine_targets.json").exists():
    PICTURES["engine-speed"] = engine_performance.draw_speed
    PICTURES["engine-cycles"] = engine_performance.draw_cycles
if (tables.MEASUREMENTS / "engine_area.json").exists():
    PICTURES["engine-area"] = engine_performance.draw_area

#: Pages with tables, and what fills them in.
PAGES = {
    readme.PAGE: readme.fill,
    choosing.PAGE: choosing.fill,
    verification.PAGE: verification.fill,
    engine.PAGE: engine.fill,
    engine_performance.PAGE: engine_performance.fill,
    saved.PAGE: saved.fill,
    system.PAGE: system.fill,
    **dict.fromkeys(codecs_page.PAGES, codecs_page.fill),
    **dict.fromkeys(performance.PAGES, performance.fill),
}


def main() -> None:
    """Draw the pictures, and fill in the tables where they go into the documents."""
    parser = argparse.ArgumentParser(prog="docs/draw", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="pictures only, here")
    given = parser.parse_args().folder
    folder = given or Path(__file__).parents[1] / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8", newline="\n")
    if given:
        return
    for page, fill in PAGES.items():
        text = fill(page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
