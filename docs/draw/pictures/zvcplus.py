"""The datapath of both units of ZVC+."""

from pictures.svg import CREDIT, FAINT, Sheet


def draw() -> str:
    sheet = Sheet(1120, 620, "Datapath of the ZVC+ compressor and of its decompressor")
    _compressor(sheet, 20)
    sheet.line((20, 296), (1100, 296), color="#d0d7de")
    _decompressor(sheet, 314)
    sheet.line((24, 600), (64, 600), color=CREDIT, dash="4 3")
    sheet.text(74, 604, "when an item may enter, and which rows are free", 12, anchor="start")
    return sheet.finish()


def _compressor(sheet, top):
    middle, low = top + 82, top + 182
    sheet.text(24, top + 14, "Compressor", size=16, anchor="start", weight="bold")
    sheet.text(24, middle - 8, "s_axis", size=12, anchor="start")
    sheet.arrow((24, middle), (120, middle))
    sheet.box(120, middle - 32, 130, 64, "Line", "beats wait until", "their block is planned")
    sheet.arrow((250, middle), (290, middle))
    sheet.box(290, middle - 32, 120, 64, "Counter", "words sent,", "times their width")
    sheet.arrow((410, middle), (600, middle))
    sheet.box(600, middle - 32, 120, 64, "Fields", "mantissa, offset,", "sign of a word")
    sheet.arrow((720, middle), (760, middle))
    sheet.box(760, middle - 32, 110, 64, "Bit network", "eight levels")
    sheet.arrow((870, middle), (910, middle))
    sheet.box(910, middle - 32, 90, 64, "Rows", "of 32 bytes")
    sheet.arrow((1000, middle), (1090, middle))
    sheet.text(1090, middle - 8, "m_axis", size=12, anchor="end")
    sheet.text(1090, middle + 18, "m_axis_sts", size=12, anchor="end")

    sheet.arrow((80, middle), (80, low), (120, low))
    sheet.box(120, low - 32, 130, 64, "Survey", "mask, signs,", "exponents of a block")
    sheet.arrow((250, low), (290, low))
    sheet.box(290, low - 32, 120, 64, "Planner", "coding, length of", "the control")
    sheet.arrow((350, low - 32), (350, middle + 32))
    sheet.text(357, middle + 54, "width", size=11, anchor="start", color=FAINT)
    sheet.arrow((410, low), (450, low))
    sheet.box(450, low - 32, 110, 64, "Order", "an item a cycle")
    sheet.arrow((395, middle + 32), (395, middle + 48), (505, middle + 48), (505, low - 32))
    sheet.text(512, middle + 44, "bits of the beat", size=11, anchor="start", color=FAINT)
    sheet.arrow((560, low), (600, low))
    sheet.box(600, low - 32, 120, 64, "Placer", "first bit of each", "word and control")
    sheet.arrow((690, low - 32), (690, low - 50), (815, low - 50), (815, middle + 32))
    sheet.text(700, low - 36, "switches", size=11, anchor="start", color=FAINT)
    sheet.arrow((720, low), (760, low))
    sheet.box(760, low - 32, 110, 64, "Coder", "closes gaps", "between nibbles")
    sheet.arrow((350, low + 32), (350, low + 56), (815, low + 56), (815, low + 32))
    sheet.text(580, low + 51, "the control's fields", size=11, color=FAINT)
    sheet.arrow((870, low), (940, low), (940, middle + 32))
    sheet.text(880, low - 6, "control", size=11, anchor="start", color=FAINT)
    sheet.arrow((955, middle - 32), (955, middle - 56), (430, middle - 56), (430, low - 12),
                (450, low - 12), color=CREDIT, dash="4 3")  # fmt: skip
    sheet.text(690, middle - 61, "room for the next item", size=11, color=CREDIT)


def _decompressor(sheet, top):
    middle, low = top + 88, top + 208
    sheet.text(24, top + 14, "Decompressor", size=16, anchor="start", weight="bold")
    sheet.text(24, middle - 8, "s_axis", size=12, anchor="start")
    sheet.arrow((24, middle), (120, middle))
    sheet.box(120, middle - 32, 130, 64, "Ring of rows", "8 rows of 32 bytes,", "with repeats 16")
    sheet.arrow((250, middle), (310, middle))
    sheet.text(280, middle - 8, "window", size=11, color=FAINT)
    notes = ("a control in four cycles,", "two blocks ahead")
    sheet.box(310, middle - 32, 170, 64, "Control fetcher", *notes)
    sheet.arrow((440, middle - 32), (440, middle - 56), (350, middle - 56), (350, middle - 32))
    sheet.text(396, middle - 61, "place of the next control", size=11, color=FAINT)
    sheet.text(246, top + 12, "s_axis_cmd", size=12, anchor="end")
    sheet.arrow((176, top + 16), (322, top + 16), (322, middle - 32))
    sheet.arrow((480, middle), (530, middle))
    sheet.text(505, middle - 8, "blocks", size=11, color=FAINT)
    sheet.box(530, middle - 32, 130, 64, "Block beats", "words of a beat,", "their width")
    sheet.arrow((660, middle), (710, middle))
    sheet.box(710, middle - 32, 120, 64, "Placer", "first bit of", "each word")
    sheet.arrow((770, middle + 32), (770, middle + 58), (345, middle + 58), (345, low - 32))
    sheet.text(560, middle + 53, "a beat's rows and first bits", size=11, color=FAINT)
    sheet.box(290, low - 32, 120, 64, "Reader", "rows of a beat,", "three levels")
    sheet.arrow((160, middle + 32), (160, low), (290, low))
    sheet.text(225, low - 8, "rows", size=11, color=FAINT)
    sheet.arrow((310, low + 32), (310, low + 56), (140, low + 56), (140, middle + 32),
                color=CREDIT, dash="4 3")  # fmt: skip
    sheet.text(225, low + 51, "rows are free", size=11, color=CREDIT)
    sheet.arrow((410, low), (460, low))
    sheet.box(460, low - 32, 120, 64, "Bit network", "five levels")
    sheet.arrow((580, low), (630, low))
    sheet.box(630, low - 32, 130, 64, "Word builder", "base - offset;", "zeros between")
    sheet.arrow((760, low), (810, low))
    sheet.box(810, low - 32, 110, 64, "Left copy", "only with repeats")
    sheet.arrow((920, low), (960, low))
    sheet.box(960, low - 32, 70, 64, "Output")
    sheet.arrow((1030, low), (1090, low))
    sheet.text(1090, low - 8, "m_axis", size=12, anchor="end")
    sheet.arrow((472, middle - 32), (472, middle - 72), (995, middle - 72), (995, low - 32))
    sheet.text(730, middle - 77, "errors, bytes read, the packet's end", size=11, color=FAINT)
    sheet.arrow((1015, low - 32), (1015, middle), (1090, middle))
    sheet.text(1090, middle - 8, "m_axis_sts", size=12, anchor="end")
