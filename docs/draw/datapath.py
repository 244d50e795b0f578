"""The datapath of both units."""

from svg import CREDIT, DATA, FAINT, FREE, MASK, Sheet

#: What a ring of eight banks may hold: each block is its mask and then its words. The compressor's
#: third block has not ended, so the place of its mask is still free.
COMPRESSOR_ROWS = ("mddddddd", "dddmdddd", "dddd.ddd", "ddd.....", "........")
DECOMPRESSOR_ROWS = ("mddddddd", "dddmdddd", "ddddmddd", "dddddddm", "dddd....")


def draw() -> str:
    sheet = Sheet(1080, 640, "Datapath of the compressor and of the decompressor")
    _compressor(sheet, 20)
    sheet.line((20, 300), (1060, 300), color="#d0d7de")
    _decompressor(sheet, 318)
    _legend(sheet, 620)
    return sheet.finish()


def _compressor(sheet, top):
    middle, low = top + 92, top + 210
    sheet.text(24, top + 14, "Compressor", size=16, anchor="start", weight="bold")
    _port_in(sheet, 24, middle, 100, "s_axis")
    sheet.box(100, middle - 30, 120, 60, "Zero detect", "mask of the beat")
    sheet.arrow((220, middle), (256, middle))
    sheet.box(256, middle - 30, 120, 60, "Prefix sum", "rank of each word")
    sheet.arrow((376, middle), (412, middle))
    sheet.box(412, middle - 30, 150, 60, "Cyclic butterfly", "collapses and aligns")
    sheet.arrow((562, middle), (620, middle))
    sheet.text(588, middle - 8, "words", size=11, color=FAINT)
    _ring(sheet, 620, top + 40, COMPRESSOR_ROWS, "Ring of rows", "a bank per lane")
    sheet.arrow((770, middle), (846, middle))
    sheet.text(805, middle - 8, "committed", size=11, color=FAINT)
    sheet.text(805, middle + 16, "rows", size=11, color=FAINT)
    sheet.box(846, middle - 30, 120, 60, "Output register", "tkeep, tlast")
    _port_out(sheet, 966, middle, 1056, "m_axis")

    sheet.arrow((160, middle + 30), (160, low - 24))
    sheet.box(100, low - 24, 120, 48, "Block mask", "collected")
    sheet.arrow((220, low + 12), (680, low + 12), (680, top + 160))
    sheet.text(450, low + 28, "the mask, when its block ends", size=11, color=FAINT)
    sheet.arrow((316, middle + 30), (316, low - 40), (412, low - 40))
    sheet.text(340, low - 46, "total", size=11, color=FAINT)
    sheet.box(412, low - 62, 150, 54, "Places", "next free; a mask's", "are left free")
    sheet.arrow((487, low - 62), (487, middle + 30))
    sheet.text(493, middle + 46, "offset", size=11, anchor="start", color=FAINT)
    sheet.arrow((562, low - 40), (592, low - 40), (592, middle + 30), (620, middle + 30))
    sheet.text(597, middle + 48, "row", size=11, anchor="start", color=FAINT)

    sheet.arrow((695, top + 40), (695, top + 24), (82, top + 24), (82, middle - 4),
                color=CREDIT, dash="4 3")  # fmt: skip
    sheet.text(400, top + 18, "room for every beat on its way: s_axis_tready", 11, color=CREDIT)
    sheet.box(846, low - 24, 120, 48, "Status", "words in, bytes out")
    sheet.arrow((906, middle + 30), (906, low - 24))
    _port_out(sheet, 966, low, 1056, "m_axis_sts")


def _decompressor(sheet, top):
    middle, low = top + 92, top + 216
    sheet.text(24, top + 14, "Decompressor", size=16, anchor="start", weight="bold")
    _port_in(sheet, 24, middle, 100, "s_axis")
    _ring(sheet, 100, top + 40, DECOMPRESSOR_ROWS, "Ring of rows", "two readers")

    sheet.arrow((250, middle), (320, middle))
    sheet.text(285, middle - 8, "masks", size=11, color=FAINT)
    sheet.box(320, middle - 30, 130, 60, "Mask fetcher", "counts the ones")
    sheet.arrow((435, middle - 30), (435, middle - 52), (345, middle - 52), (345, middle - 30))
    sheet.text(349, middle - 57, "place of the next mask", size=11, anchor="start", color=FAINT)
    sheet.arrow((250, top + 14), (334, top + 14), (334, middle - 30))
    sheet.text(242, top + 18, "s_axis_cmd", size=12, anchor="end")
    sheet.arrow((450, middle), (482, middle))
    sheet.box(482, middle - 30, 80, 60, "Queue", "4 blocks")
    sheet.arrow((562, middle), (594, middle))
    sheet.box(594, middle - 30, 110, 60, "Prefix sum", "beat by beat")
    sheet.arrow((704, middle), (736, middle))
    sheet.box(736, middle - 30, 130, 60, "Launch", "words there?", "room behind?")

    sheet.line((760, middle + 30), (760, low - 52), (200, low - 52))
    sheet.arrow((200, low - 52), (200, top + 160))
    sheet.text(380, low - 58, "place of the beat's first word", size=11, color=FAINT)
    sheet.arrow((585, low - 52), (585, low - 30))
    sheet.text(592, low - 37, "mask, ranks", size=11, anchor="start", color=FAINT)
    sheet.arrow((150, top + 160), (150, low), (510, low))
    sheet.text(330, low - 8, "words, one from each bank", size=11, color=FAINT)
    sheet.box(510, low - 30, 150, 60, "Expander", "the butterfly reversed")
    sheet.arrow((660, low), (700, low))
    sheet.box(700, low - 30, 100, 60, "Queue", "16 beats")
    sheet.arrow((800, low), (846, low))
    sheet.box(846, low - 30, 120, 60, "Output register", "tkeep, tlast")
    _port_out(sheet, 966, low, 1056, "m_axis")
    sheet.arrow((785, low - 30), (785, middle + 30), color=CREDIT, dash="4 3")
    sheet.text(793, low - 50, "credits", size=11, anchor="start", color=CREDIT)
    sheet.arrow((866, middle), (906, middle))
    sheet.box(906, middle - 30, 80, 60, "Status", "bytes, error")
    _port_out(sheet, 986, middle, 1056, "m_axis_sts")


def _ring(sheet, x, y, rows, name, note):
    sheet.rect(x, y, 150, 120, radius=4)
    sheet.text(x + 75, y + 18, name, weight="bold")
    sheet.cells(x + 19, y + 28, rows)
    sheet.text(x + 75, y + 113, note, size=11, color=FAINT)


def _port_in(sheet, x, y, end, name):
    sheet.text(x, y - 8, name, size=12, anchor="start")
    sheet.arrow((x, y), (end, y))


def _port_out(sheet, x, y, end, name):
    sheet.arrow((x, y), (end, y))
    sheet.text(end, y - 8, name, size=12, anchor="end")


def _legend(sheet, y):
    for x, fill, text in (
        (24, MASK, "word of a mask"),
        (170, DATA, "non-zero word"),
        (310, FREE, "free place"),
    ):
        sheet.rect(x, y - 11, 14, 14, fill=fill)
        sheet.text(x + 22, y, text, size=12, anchor="start")
    sheet.line((430, y - 4), (470, y - 4), color=CREDIT, dash="4 3")
    sheet.text(480, y, "room is promised before a beat sets out: nothing behind it stalls", 12,
               anchor="start")  # fmt: skip
