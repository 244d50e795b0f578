"""Just enough SVG: boxes, arrows and text on a white sheet, which reads on any background."""

from xml.sax.saxutils import escape

INK = "#1f2933"
FAINT = "#52606d"
EDGE = "#486581"
BOX = "#eaf1f8"
MASK = "#f0a93b"
DATA = "#8fbce6"
FREE = "#ffffff"
CREDIT = "#b0412e"
FONT = 'font-family="Helvetica, Arial, sans-serif"'
MONO = 'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"'


class Sheet:
    """A picture of ``width`` x ``height`` pixels; ``title`` is what a screen reader says."""

    def __init__(self, width: int, height: int, title: str):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
            'fill="#ffffff" stroke="#d0d7de"/>',
        ]

    def rect(self, x, y, width, height, fill=BOX, stroke=EDGE, radius=0):
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )

    def text(self, x, y, text, size=13, anchor="middle", color=INK, weight="normal", font=FONT):
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" {font} font-size="{size}" font-weight="{weight}" '
            f'text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
        )

    def box(self, x, y, width, height, name, *notes):
        """A named box; notes stand below the name, one a line. Centred."""
        self.rect(x, y, width, height, radius=4)
        top = y + height / 2 + 5 - 7.5 * len(notes)
        self.text(x + width / 2, top, name, weight="bold")
        for i, note in enumerate(notes, 1):
            self.text(x + width / 2, top + 15 * i, note, size=11, color=FAINT)

    def line(self, *points, color=INK, width=1.3, dash="", fill="none"):
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(
            f'<polyline points="{path}" fill="{fill}" stroke="{color}" '
            f'stroke-width="{width:g}"{dashed}/>'
        )

    def arrow(self, *points, color=INK, dash="", width=1.3):
        """A line along ``points`` whose last piece runs straight and ends in a head."""
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        self.line(*points[:-1], (x - 6 * dx, y - 6 * dy), color=color, dash=dash, width=width)
        head = [
            (x, y),
            (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx),
            (x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx),
        ]
        points = " ".join(f"{a:g},{b:g}" for a, b in head)
        self.lines.append(f'<polygon points="{points}" fill="{color}"/>')

    def cells(self, x, y, rows, size=14):
        """A grid, a string a row: ``m`` a mask's word, ``d`` a word, ``.`` a free place."""
        fills = {"m": MASK, "d": DATA, ".": FREE}
        for r, row in enumerate(rows):
            for c, kind in enumerate(row):
                self.rect(x + c * size, y + r * size, size, size, fill=fills[kind])

    def finish(self) -> str:
        return "\n".join([*self.lines, "</svg>"]) + "\n"
