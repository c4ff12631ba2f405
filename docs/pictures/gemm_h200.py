#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws docs/pictures/gemm-h200.svg from the tables of docs/results/gemm-h200.md.

    docs/pictures/gemm_h200.py          writes the picture
    docs/pictures/gemm_h200.py --check  exits 1 if the picture is not what the tables say now

A row is an element type, a dot is a problem: the speed of ptxloom over that of cuBLASLt, on a logarithmic axis. The upper
line of a row compares with the algorithm that cuBLASLt's heuristic proposes first, the lower one with the fastest of 32.
"""
import math
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent
TABLES = DOCS / "results/gemm-h200.md"
PICTURE = DOCS / "pictures/gemm-h200.svg"

SUMMARY = re.compile(r"^- (\w+), D \w+: against the default: geometric mean ([\d.]+), worst ([\d.]+) at ([\d,]+), .*?"
                     r"against the best: geometric mean ([\d.]+), worst ([\d.]+) at ([\d,]+), ")
SECTION = re.compile(r"^### (\w+), D (\w+)$")
COLUMNS = ("of default", "of best")
LEFT, RIGHT, TOP, ROW, WIDTH = 140, 690, 66, 54, 900
LOW, HIGH = 0.8, 6.0
TICKS = (0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4, 5, 6)

STYLE = """
text { font: 12px sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: bold }
.small { font-size: 11px; fill: #59636e }
.type { font-size: 14px; font-weight: bold }
.grid { stroke: #d1d9e0 }
.one { stroke: #1f2328; stroke-width: 1.5 }
.default { fill: #0969da; fill-opacity: 0.55 }
.best { fill: #9a6700; fill-opacity: 0.55 }
.mean { stroke: #1f2328; stroke-width: 2 }
.worst { fill: none; stroke: #cf222e; stroke-width: 1.5 }
.label { font-size: 11px; fill: #cf222e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .small { fill: #9198a1 }
  .grid { stroke: #3d444d }
  .one, .mean { stroke: #f0f6fc }
  .default { fill: #4493f8; fill-opacity: 0.7 }
  .best { fill: #d29922; fill-opacity: 0.7 }
  .worst { stroke: #f85149 }
  .label { fill: #f85149 }
}
"""


def read_tables(text):
    """[(type of A, type of D, {column: [ratio]})], in the order of the page, and {type of A: {column: (geometric mean,
    worst, its shape)}} of the unrounded figures."""
    tables, summaries, names = [], {}, None
    for line in text.splitlines():
        if match := SUMMARY.match(line):
            summaries[match[1]] = dict(zip(COLUMNS, (match.group(2, 3, 4), match.group(5, 6, 7))))
        elif match := SECTION.match(line):
            tables.append((match[1], match[2], {column: [] for column in COLUMNS}))
            names = None
        elif line.startswith("#"):
            names = None
        elif tables and line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if cells[0] == "M,N,K":
                names = cells
            elif names and re.fullmatch(r"[\d,]+", cells[0]):
                row = dict(zip(names, cells))
                for column in COLUMNS:
                    if row[column] != "refused":  # cuBLASLt does not have the problem
                        tables[-1][2][column].append(float(row[column]))
    return tables, summaries


def x_of(ratio):
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LOW) / math.log(HIGH / LOW)


def draw_line(y, css, ratios, summary):
    """The problems of one type against one rival."""
    for ratio in ratios:
        if not LOW <= ratio <= HIGH:
            sys.exit(f"a ratio of {ratio} is outside the axis, {LOW} to {HIGH}")
        yield f'<circle class="{css}" cx="{x_of(ratio):.1f}" cy="{y}" r="4"/>'
    mean, worst, shape = summary
    if abs(min(ratios) - float(worst)) > 0.0051:
        sys.exit(f"the worst of the table is {min(ratios)}, and the line below it says {worst}")
    yield f'<path class="mean" d="M{x_of(float(mean)):.1f} {y - 8}v16"/>'
    yield f'<circle class="worst" cx="{x_of(float(worst)):.1f}" cy="{y}" r="6"/>'
    yield f'<text x="{RIGHT + 12}" y="{y + 4}">{float(mean):.2f}</text>'
    yield f'<text class="label" x="{RIGHT + 52}" y="{y + 4}">{float(worst):.2f} at {shape}</text>'


def draw(tables, summaries):
    bottom = TOP + ROW * len(tables)
    height = bottom + 62
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
           'aria-label="Speed of ptxloom&#39;s gemm over cuBLASLt on an H200, by element type">')
    yield "<!-- SPDX-License-Identifier: Apache-2.0 -->"
    yield "<!-- Made by docs/pictures/gemm_h200.py from docs/results/gemm-h200.md. -->"
    yield f"<style>{STYLE}</style>"
    yield '<text class="title" x="12" y="22">gemm on an H200: speed relative to cuBLASLt 13.1 (right of 1: ptxloom is faster)</text>'
    yield '<circle class="default" cx="20" cy="42" r="4"/><text x="30" y="46">against its default algorithm</text>'
    yield '<circle class="best" cx="218" cy="42" r="4"/><text x="228" y="46">against the fastest of 32</text>'
    yield f'<text class="small" x="{RIGHT + 12}" y="{TOP - 16}">mean</text>'
    yield f'<text class="small" x="{RIGHT + 52}" y="{TOP - 16}">worst</text>'
    yield '<path class="mean" d="M394 34v16"/><text x="402" y="46">geometric mean</text>'
    yield '<circle class="worst" cx="516" cy="42" r="6"/><text x="528" y="46">worst (M,N,K)</text>'
    for tick in TICKS:
        css = "one" if tick == 1 else "grid"
        yield f'<path class="{css}" d="M{x_of(tick):.1f} {TOP - 6}V{bottom}"/>'
        yield f'<text class="small" text-anchor="middle" x="{x_of(tick):.1f}" y="{bottom + 16}">{tick:g}</text>'
    for index, (a, d, columns) in enumerate(tables):
        top = TOP + ROW * index
        yield f'<path class="grid" d="M12 {top - 6}H{WIDTH - 12}"/>'
        yield f'<text class="type" x="12" y="{top + 18}">{a}</text>'
        yield f'<text class="small" x="12" y="{top + 34}">D {d}, {len(columns[COLUMNS[0]])} problems</text>'
        for y, css, column in ((top + 9, "default", COLUMNS[0]), (top + 32, "best", COLUMNS[1])):
            yield from draw_line(y, css, columns[column], summaries[a][column])
    yield f'<text class="small" x="12" y="{bottom + 36}">Each problem: a search of about a second, the winner verified, then timed in turns with cuBLASLt; random data, buffers larger than L2.</text>'
    yield f'<text class="small" x="12" y="{bottom + 52}">Problems that cuBLASLt refuses have no dot. Tables, commands and revision: docs/results/gemm-h200.md.</text>'
    yield "</svg>"


def main():
    picture = "\n".join(draw(*read_tables(TABLES.read_text(encoding="utf-8")))) + "\n"
    if sys.argv[1:] == ["--check"]:
        if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != picture:
            sys.exit(f"{PICTURE.relative_to(DOCS.parent)} is not what {TABLES.relative_to(DOCS.parent)} says: run docs/pictures/gemm_h200.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
