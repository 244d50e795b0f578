"""Tables of docs/engine.md: cycles of tensors through engines, and area."""

import tables
from measured import DOCS, records

from cdma.tables import format_table

PAGE = DOCS / "engine.md"
ABSENT = "Not measured for the engine as it is now: the command below measures it."


def fill(text: str) -> str:
    """The page with its tables as they were measured."""
    made = {"engine_cycles": _cycles, "engine_area": _area}
    return tables.fill(text, made, ABSENT)


def _cycles() -> str:
    rows = []
    for each in records("engine"):
        row = {
            "tensor": each["tensor"].partition(":")[2] or each["tensor"],
            "channels": str(each["channels"]),
            "bytes": f"{each['bytes']:,}",
            "ratio": f"{each['ratio']:.2f}",
        }
        for direction in ("offload", "prefetch"):
            row[f"{direction} cycles"] = f"{each[f'{direction}_cycles']:,}"
            row[f"{direction} bound"] = f"{each[f'least_{direction}_cycles']:,}"
            row[f"{direction} / bound"] = f"{each[f'{direction}_share']:.2f}"
        rows.append(row)
    return format_table(rows, list(rows[0]), "markdown")


def _area() -> str:
    rows = []
    for each in records("engine_area"):
        cells, lattice = each["asic"] and each["asic"]["abc"], each["ecp5"]
        rows.append(
            {
                "engine": each["config"],
                "RAM in bits": f"{cells['ram_bits']:,}" if cells else "-",
                "Nangate45 um2": f"{cells['area_um2']:,.0f}" if cells else "-",
                "kGE": f"{cells['kge']:,.1f}" if cells else "-",
                "of it flip-flops, um2": f"{cells['storage_um2']:,.0f}" if cells else "-",
                "ECP5 LUT4": f"{lattice['lut4']:,}" if lattice else "-",
                "FF": f"{lattice['flip_flops']:,}" if lattice else "-",
                "block RAM": f"{lattice['block_rams']:,}" if lattice else "-",
            }
        )
    return format_table(rows, list(rows[0]), "markdown")
