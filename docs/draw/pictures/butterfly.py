"""The worked example of the butterfly: three words of four lanes, to places 2, 3 and 0."""

from pictures.svg import FAINT, MONO, Sheet

WORDS = ("a", "0", "c", "d")
OFFSET = 2
COLORS = {"a": "#1d6fb8", "c": "#b0412e", "d": "#2f7d32"}
LEFT, STEP, TOP, PITCH = 250, 190, 84, 52


def draw() -> str:
    sheet = Sheet(860, 318, "A cyclic butterfly of four lanes")
    for x, text in zip(
        (LEFT, LEFT + STEP, LEFT + 2 * STEP), ("lane", "after level 0", "bank"), strict=True
    ):
        sheet.text(x, 44, text, weight="bold")
    sheet.text(LEFT + STEP / 2, 28, "level 0: bit 0", size=11, color=FAINT)
    sheet.text(LEFT + 1.5 * STEP, 28, "level 1: bit 1", size=11, color=FAINT)
    for level in range(2):
        for lane in range(4):
            for to in (lane, lane ^ 1 << level):
                sheet.line(_at(level, lane, 14), _at(level + 1, to, -14), color="#d0d7de")
    for lane in range(4):
        for column in range(3):
            _node(sheet, column, lane, "")
    for lane, word in enumerate(WORDS):
        if word == "0":
            sheet.text(*_at(0, lane, -30, 5), f"lane {lane}: zero, stays out", 12, "end")
            _node(sheet, 0, lane, "0")
            continue
        rank = sum(other != "0" for other in WORDS[:lane])
        bank = (OFFSET + rank) % 4
        path = [lane, lane & ~1 | bank & 1, bank]
        for level in range(2):
            ends = _at(level, path[level], 14), _at(level + 1, path[level + 1], -14)
            sheet.line(*ends, color=COLORS[word], width=3)
        for level in range(3):
            _node(sheet, level, path[level], word)
        row = "the row being filled" if bank >= OFFSET else "the row after it"
        text = f"lane {lane}: rank {rank}, to bank {bank} = {bank:02b}b"
        sheet.text(*_at(0, lane, -30, 5), text, 12, "end")
        sheet.text(*_at(2, bank, 30, 5), f"bank {bank}: {row}", 12, "start")
    for level in range(2):
        for first in range(0, 4, 2 << level):
            _number(sheet, level, first)
    note = (
        "Offset 2: banks 0 and 1 of the row are taken already. In the middle of each group stands"
    )
    sheet.text(430, 284, note, 12, color=FAINT)
    note = "the one number that its switches need: where its upper half's first word goes."
    sheet.text(430, 302, note, 12, color=FAINT)
    return sheet.finish()


def _at(column, lane, right=0, down=0):
    return LEFT + column * STEP + right, TOP + lane * PITCH + down


def _number(sheet, level, first):
    """Destination of the first word of a group's upper half, modulo the size of the group."""
    span = 1 << level
    rank = sum(word != "0" for word in WORDS[: first + span])
    x, y = _at(level, first + span - 0.5, STEP / 2)
    sheet.rect(x - 10, y - 9, 20, 18, fill="#ffffff", stroke="#9fb3c8", radius=9)
    sheet.text(x, y + 4.5, str((OFFSET + rank) % (2 * span)), 12, color=FAINT, font=MONO)


def _node(sheet, column, lane, word):
    x, y = _at(column, lane)
    color = COLORS.get(word, "#9fb3c8")
    sheet.rect(x - 14, y - 14, 28, 28, fill="#ffffff", stroke=color, radius=4)
    sheet.text(x, y + 5, word, color=color, weight="bold", font=MONO)
