"""The datapath of both units."""

from pictures.svg import CREDIT, DATA, FAINT, FREE, MASK, Sheet

#: Eight lanes. The buffer holds complete beats, zeros included; in the assembler and in the ring
#: each block is its mask and then its words.
BUFFER_ROWS = ("d.dd..d.", ".....ddd", "dddddddd", "d......d")
ASSEMBLER_ROWS = ("mddddddd", "dddmdd..", "........")
RING_ROWS = ("mddddddd", "dddmdddd", "ddddmddd", "dddddddm", "dd......")


def draw() -> str:
    sheet = Sheet(1080, 700, "Datapath of the compressor and of the decompressor")
    _compressor(sheet, 20)
    sheet.line((20, 346), (1060, 346), color="#d0d7de")
    _decompressor(sheet, 364)
    _legend(sheet, 680)
    return sheet.finish()


def _compressor(sheet, top):
    middle, low, lowest = top + 108, top + 214, top + 286
    sheet.text(24, top + 14, "Compressor", size=16, anchor="start", weight="bold")
    sheet.text(24, middle - 8, "s_axis", size=12, anchor="start")
    sheet.arrow((24, middle), (120, middle))
    _store(sheet, 120, top + 52, BUFFER_ROWS, "Buffer", "complete beats")
    sheet.arrow((270, middle), (480, middle))
    sheet.box(480, middle - 30, 150, 60, "Cyclic butterfly", "collapses and aligns")
    sheet.arrow((630, middle), (680, middle))
    _store(sheet, 680, top + 52, ASSEMBLER_ROWS, "Assembler", "mask, then words")
    sheet.arrow((830, middle), (876, middle))
    sheet.box(876, middle - 30, 110, 60, "Output", "tkeep, tlast")
    _port_out(sheet, 986, middle, 1056, "m_axis")

    sheet.arrow((80, middle), (80, low), (120, low))
    sheet.box(120, low - 24, 110, 48, "Zero detect", "a bit per word")
    sheet.arrow((230, low), (290, low))
    sheet.box(290, low - 24, 130, 48, "Placer", "prefix sum, place")
    sheet.arrow((420, low), (480, low))
    sheet.box(480, low - 24, 150, 48, "Queue", "places and routes")
    sheet.arrow((555, low - 24), (555, middle + 30))
    sheet.text(562, low - 38, "routes", size=11, anchor="start", color=FAINT)
    sheet.arrow((630, low), (720, low), (720, top + 172))
    sheet.text(675, low - 8, "place", size=11, color=FAINT)
    sheet.arrow((260, low), (260, lowest), (290, lowest))
    sheet.box(290, lowest - 24, 130, 48, "Queue", "parts of the mask")
    sheet.arrow((420, lowest + 8), (790, lowest + 8), (790, top + 172))
    sheet.text(600, lowest + 2, "the block's mask, with its first beat", size=11, color=FAINT)

    sheet.arrow((450, lowest - 10), (450, middle), color=CREDIT, dash="4 3")
    sheet.line((420, lowest - 10), (450, lowest - 10), color=CREDIT, dash="4 3")
    sheet.text(443, middle + 48, "block complete", 11, "end", color=CREDIT)
    sheet.arrow((755, top + 52), (755, top + 34), (555, top + 34), (555, middle - 30),
                color=CREDIT, dash="4 3")  # fmt: skip
    sheet.text(655, top + 28, "room for the next beat", 11, color=CREDIT)
    sheet.arrow((931, middle + 30), (931, low - 24))
    sheet.box(876, low - 24, 110, 54, "Status", "words in,", "bytes out")
    _port_out(sheet, 986, low, 1056, "m_axis_sts")


def _decompressor(sheet, top):
    middle, low = top + 108, top + 238
    sheet.text(24, top + 14, "Decompressor", size=16, anchor="start", weight="bold")
    sheet.text(24, middle - 8, "s_axis", size=12, anchor="start")
    sheet.arrow((24, middle), (120, middle))
    _store(sheet, 120, top + 52, RING_ROWS, "Ring of rows", "two readers")

    sheet.arrow((270, middle), (340, middle))
    sheet.text(305, middle - 8, "masks", size=11, color=FAINT)
    sheet.box(340, middle - 30, 140, 60, "Mask fetcher", "counts the ones")
    sheet.arrow((460, middle - 30), (460, middle - 52), (380, middle - 52), (380, middle - 30))
    sheet.text(384, middle - 57, "place of the next mask", size=11, anchor="start", color=FAINT)
    sheet.arrow((270, top + 18), (360, top + 18), (360, middle - 30))
    sheet.text(262, top + 22, "s_axis_cmd", size=12, anchor="end")
    sheet.arrow((480, middle), (530, middle))
    sheet.text(505, middle - 8, "blocks", size=11, color=FAINT)
    sheet.box(530, middle - 30, 130, 60, "Block beats", "prefix sum")
    sheet.arrow((660, middle), (700, middle))
    sheet.box(700, middle - 30, 120, 60, "Reader", "waits for words,", "frees rows")

    sheet.line((740, middle + 30), (740, low - 58), (220, low - 58))
    sheet.arrow((220, low - 58), (220, top + 172))
    sheet.text(390, low - 64, "row of each bank", size=11, color=FAINT)
    sheet.arrow((595, low - 58), (595, low - 30))
    sheet.text(602, low - 40, "mask, routes", size=11, anchor="start", color=FAINT)
    sheet.arrow((160, top + 172), (160, low), (520, low))
    sheet.text(340, low - 8, "words, one from each bank; zero if missing", 11, color=FAINT)
    sheet.box(520, low - 30, 150, 60, "Expander", "the butterfly reversed")
    sheet.arrow((670, low), (876, low))
    sheet.box(876, low - 30, 110, 60, "Output", "tkeep, tlast")
    _port_out(sheet, 986, low, 1056, "m_axis")
    sheet.arrow((790, low), (790, middle + 30), color=CREDIT, dash="4 3")
    sheet.text(798, low - 50, "advance", size=11, anchor="start", color=CREDIT)
    sheet.arrow((931, low - 30), (931, middle + 30))
    sheet.box(876, middle - 30, 110, 60, "Report", "bytes, error")
    _port_out(sheet, 986, middle, 1056, "m_axis_sts")


def _store(sheet, x, y, rows, name, note):
    """A box of 150 x 120 with the cells of a memory, or of registers."""
    sheet.rect(x, y, 150, 120, radius=4)
    sheet.text(x + 75, y + 18, name, weight="bold")
    size = min(14, 72 // len(rows))
    sheet.cells(x + 75 - len(rows[0]) * size // 2, y + 28, rows, size)
    sheet.text(x + 75, y + 113, note, size=11, color=FAINT)


def _port_out(sheet, x, y, end, name):
    sheet.arrow((x, y), (end, y))
    sheet.text(end, y - 8, name, size=12, anchor="end")


def _legend(sheet, y):
    for x, fill, text in (
        (24, MASK, "word of a mask"),
        (170, DATA, "non-zero word"),
        (310, FREE, "zero word, or free place"),
    ):
        sheet.rect(x, y - 11, 14, 14, fill=fill)
        sheet.text(x + 22, y, text, size=12, anchor="start")
    sheet.line((520, y - 4), (560, y - 4), color=CREDIT, dash="4 3")
    sheet.text(570, y, "when a beat may advance", size=12, anchor="start")
