"""The engine: its front end, both directions and the ports."""

from pictures.svg import BOX, CREDIT, EDGE, FAINT, Sheet

LINK = "#d9ead3"


def draw() -> str:
    sheet = Sheet(1120, 650, "The engine: front end, offload, prefetch and ports")
    _front(sheet, 20)
    _port(sheet, 24, 212, "DRAM", "m_axi_ch0 ...")
    _port(sheet, 1036, 212, "host", "m_axi_link")
    _offload(sheet, 190)
    _prefetch(sheet, 400)
    sheet.line((24, 630), (64, 630), color=CREDIT, dash="4 3")
    sheet.text(74, 634, "room that is given back", size=12, anchor="start")
    _stack(sheet, 290, 618, 26, 14)
    sheet.text(326, 634, "once for each channel", size=12, anchor="start")
    return sheet.finish()


def _front(sheet, top):
    middle = top + 62
    sheet.rect(130, top, 880, 124, fill="#ffffff", radius=6)
    sheet.text(146, top + 20, "Front end", size=16, anchor="start", weight="bold")
    sheet.text(24, middle + 2, "s_axil", size=12, anchor="start")
    sheet.arrow((24, middle + 10), (150, middle + 10))
    sheet.box(150, middle - 22, 150, 64, "Registers", "software, errors,", "interrupt")
    sheet.text(24, middle + 32, "irq", size=12, anchor="start")
    sheet.arrow((150, middle + 38), (24, middle + 38))
    sheet.box(350, middle - 22, 150, 64, "Two rings", "fetcher, checker,", "starter")
    sheet.arrow((300, middle + 10), (350, middle + 10))
    sheet.box(560, middle - 22, 150, 64, "Finisher", "completions", "in order")
    sheet.arrow((500, middle + 10), (560, middle + 10))
    sheet.box(770, middle - 22, 150, 64, "Counters", "of each channel")
    sheet.arrow((425, middle + 42), (425, 210))
    sheet.text(418, 160, "jobs", size=11, anchor="end", color=FAINT)
    sheet.arrow((635, 210), (635, middle + 42))
    sheet.text(642, 160, "ends, errors", size=11, anchor="start", color=FAINT)
    sheet.arrow((1080, 212), (1080, middle - 6), (1010, middle - 6))
    sheet.text(1090, middle - 14, "descriptors", size=11, anchor="end", color=FAINT)
    sheet.arrow((1010, middle + 20), (1056, middle + 20), (1056, 212))
    sheet.text(1050, middle + 96, "completions", size=11, anchor="end", color=FAINT)


def _offload(sheet, top):
    middle, low = top + 62, top + 150
    sheet.rect(130, top + 20, 880, 180, fill="#ffffff", radius=6)
    sheet.text(146, top + 14, "Offload", size=16, anchor="start", weight="bold")
    sheet.arrow((84, middle), (150, middle))
    _stack(sheet, 150, middle - 30, 130, 60, "Reader", "bursts of 512 bytes,", "as credits allow")
    sheet.arrow((286, middle), (330, middle))
    _stack(sheet, 330, middle - 30, 130, 60, "Compressor", "raw stripes", "go around it")
    sheet.arrow((466, middle), (510, middle))
    _stack(sheet, 510, middle - 30, 110, 60, "STAGE", "rows of streams")
    sheet.arrow((626, middle), (680, middle))
    sheet.box(680, middle - 30, 110, 60, "Gather", "stripes in order,", "limit, CRC")
    sheet.arrow((790, middle), (850, middle))
    sheet.box(850, middle - 30, 140, 60, "Stream writer", "no gaps, no empty", "beats")
    sheet.arrow((990, middle), (1036, middle))
    sheet.arrow((735, middle + 30), (735, low), (850, low))
    sheet.text(742, low - 8, "bytes, raw, CRC", size=11, anchor="start", color=FAINT)
    sheet.box(850, low - 26, 140, 52, "Index writer", "8 bytes a stripe")
    sheet.arrow((990, low), (1036, low))
    notes = "rows and pitch; AUTO learns of sizes"
    sheet.box(330, low - 26, 290, 52, "Stripes of a job, raw or coded", notes)
    sheet.arrow((330, low), (215, low), (215, middle + 36))
    sheet.line((620, low), (700, low))
    sheet.arrow((700, low), (700, middle + 30))
    sheet.text(664, low + 16, "whose turn", size=11, color=FAINT)
    sheet.arrow((395, middle + 36), (395, middle + 46), (240, middle + 46), (240, middle + 36),
                color=CREDIT, dash="4 3")  # fmt: skip
    sheet.line((565, middle + 36), (565, middle + 46), color=CREDIT, dash="4 3")
    sheet.line((565, middle + 46), (395, middle + 46), color=CREDIT, dash="4 3")
    sheet.text(480, middle + 58, "credits", size=11, color=CREDIT)


def _prefetch(sheet, top):
    middle, low = top + 62, top + 156
    sheet.rect(130, top + 20, 880, 190, fill="#ffffff", radius=6)
    sheet.text(146, top + 14, "Prefetch", size=16, anchor="start", weight="bold")
    sheet.arrow((1036, middle), (990, middle))
    sheet.box(850, middle - 30, 140, 60, "Range reader", "the stream once,", "in order")
    sheet.arrow((850, middle), (790, middle))
    sheet.box(680, middle - 30, 110, 60, "Split", "rows of stripes;", "CRC beside")
    sheet.arrow((680, middle), (626, middle))
    _stack(sheet, 510, middle - 30, 110, 60, "QUEUE", "rows of streams")
    sheet.arrow((510, middle), (466, middle))
    _stack(sheet, 330, middle - 30, 130, 60, "Decompressor", "raw stripes", "go around it")
    sheet.arrow((330, middle), (286, middle))
    _stack(sheet, 150, middle - 30, 130, 60, "Writer", "bursts that end", "with the stripe")
    sheet.arrow((150, middle), (84, middle))
    sheet.arrow((1036, low), (990, low))
    sheet.box(850, low - 26, 140, 52, "Entry reader", "reads the index ahead")
    sheet.arrow((850, low), (800, low))
    sheet.box(640, low - 26, 160, 52, "Task maker", "joins stripes and entries")
    sheet.arrow((640, low), (590, low))
    sheet.box(420, low - 26, 170, 52, "Stripe table", "a slot until it is done")
    sheet.arrow((565, low - 26), (565, low - 46), (735, low - 46), (735, middle + 30))
    sheet.text(650, low - 33, "where stripes end", size=11, color=FAINT)
    sheet.arrow((200, middle + 36), (200, low), (420, low))
    sheet.text(310, low - 8, "written, decoded, errors", size=11, color=FAINT)


def _port(sheet, x, y, name, signals):
    """What a port leads to, as high as both directions."""
    sheet.rect(x, y, 60, 398, fill=LINK, radius=4)
    sheet.text(x + 30, y + 190, name, weight="bold")
    sheet.text(x + 30, y + 208, signals.split()[0], size=9, color=FAINT)
    for rest in signals.split()[1:]:
        sheet.text(x + 30, y + 220, rest, size=9, color=FAINT)


def _stack(sheet, x, y, width, height, *texts):
    """A box that there is for each channel."""
    sheet.rect(x + 6, y + 6, width, height, fill=BOX, stroke=EDGE, radius=4)
    if texts:
        sheet.box(x, y, width, height, *texts)
    else:
        sheet.rect(x, y, width, height, fill=BOX, stroke=EDGE, radius=4)
