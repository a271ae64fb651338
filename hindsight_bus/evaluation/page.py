"""A report as one HTML file: tables and plots as inline SVG, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 420, 260, 46, 40
_COLOURS = ("#3366aa", "#cc5533", "#339966", "#8855aa", "#997722", "#337788", "#aa3377", "#666666")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .25rem .8rem; border-bottom: 1px solid #ddd }
td { text-align: right; font-variant-numeric: tabular-nums } td:first-child, th:first-child { text-align: left }
figure { display: inline-block; margin: 1rem 2rem 1rem 0 } figcaption { font-weight: 600 } svg text { font-size: 12px }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #ddd } svg { fill: #ddd } }
"""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines over two axes that start at 0; a line is its name and its points."""

    title: str
    x: str
    y: str
    lines: Sequence[tuple[str, Sequence[Point]]]
    y_max: float = 1.0


@dataclass(frozen=True, slots=True)
class Table:
    """A table under a title."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(slots=True)
class Page:
    """What a report shows, in order."""

    title: str
    notes: list[str] = field(default_factory=list)
    parts: list[Plot | Table] = field(default_factory=list)

    def html(self) -> str:
        """Return the report."""
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.title)}</title>'
        parts = (_plot(part) if isinstance(part, Plot) else _table(part) for part in self.parts)
        notes = (f"<p>{escape(note)}</p>" for note in self.notes)
        body = "\n".join([f"<h1>{escape(self.title)}</h1>", *notes, *parts])
        return f"{head}<style>{_STYLE}</style>\n<body>\n{body}\n</body></html>\n"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows)
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return f"<h2>{escape(table.title)}</h2>\n<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _plot(plot: Plot) -> str:
    x_max = max((x for _, points in plot.lines for x, _ in points), default=1.0) or 1.0
    drawn = [_axes(plot, x_max)]
    for number, (name, points) in enumerate(plot.lines):
        colour = _COLOURS[number % len(_COLOURS)]
        drawn.append(_line(points, x_max, plot.y_max or 1.0, colour))
        drawn.append(_legend(name, number, colour))
    height = _HEIGHT + 18 * len(plot.lines) + 8
    svg = f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img">{"".join(drawn)}</svg>'
    return f"<figure><figcaption>{escape(plot.title)}</figcaption>{svg}</figure>"


def _at(point: Point, x_max: float, y_max: float) -> Point:
    x = _LEFT + point[0] / x_max * (_WIDTH - _LEFT - 12)
    return x, 10 + (1 - point[1] / y_max) * (_HEIGHT - _BOTTOM - 10)


def _line(points: Iterable[Point], x_max: float, y_max: float, colour: str) -> str:
    places = [_at(point, x_max, y_max) for point in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in places[:40])
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'


def _legend(name: str, number: int, colour: str) -> str:
    y = _HEIGHT + 14 + 18 * number
    swatch = f'<rect x="{_LEFT}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
    return f'{swatch}<text x="{_LEFT + 16}" y="{y}">{escape(name)}</text>'


def _axes(plot: Plot, x_max: float) -> str:
    y_max = plot.y_max or 1.0
    drawn = []
    for step in range(5):
        share = step / 4
        x, y = _at((share * x_max, share * y_max), x_max, y_max)
        drawn.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - 12}" y2="{y:.1f}" stroke="#8884"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share * y_max:.3g}</text>')
        drawn.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{share * x_max:.3g}</text>'
        )
    drawn.append(f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 6}" text-anchor="end">{escape(plot.x)}</text>')
    drawn.append(f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{escape(plot.y)} (up)</text>')
    return "".join(drawn)
