"""Pieces of a self-contained HTML page: style, tables, figures. No request leaves the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from analysis.plots.style import COLOURS, Picture
from analysis.report.table import Table, make_table
from analysis.report.words import number

_STYLE = """
:root{color-scheme:light dark;--paper:#FBFAF7;--surface:#FFFFFF;--line:#D9D6CE;--ink:#1F2328;
--muted:#5B6470;--accent:#1F5A6B;--good:#1B6B43;--bad:#9B2C2C;--unsure:#5C5470;--focus:#B45309}
@media (prefers-color-scheme:dark){:root{--paper:#14171A;--surface:#1B1F23;--line:#343A41;
--ink:#E8E6E1;--muted:#A3ABB5;--accent:#7CC4D6;--good:#7FCFA3;--bad:#F0A3A3;--unsure:#C3B8DD;
--focus:#F5B556}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.6;overflow-wrap:break-word;
font-family:Charter,"Bitstream Charter","Iowan Old Style","Source Serif 4",Georgia,serif}
main{max-width:68rem;margin:0 auto;padding:2.5rem 1rem 4rem}
h1{font-size:1.9rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.35rem;line-height:1.3;margin:2.5rem 0 .5rem}
h3{font-size:1.05rem;line-height:1.35;margin:1.5rem 0 .5rem}
p,li{max-width:66ch}p{margin:.5rem 0}.muted{color:var(--muted)}
ul{padding-left:1.25rem;margin:.5rem 0}a{color:var(--accent)}
table,summary,svg text,nav,.note,figcaption{font-family:system-ui,-apple-system,"Segoe UI",
sans-serif!important}
nav{font-size:.95rem;margin:1rem 0}nav ul{list-style:none;padding:0;margin:0;display:flex;
flex-wrap:wrap;gap:.25rem 1rem}nav a{display:inline-block;padding:.25rem 0}
.scroll{overflow-x:auto;width:fit-content;max-width:100%;border-bottom:1px solid var(--line);
background:linear-gradient(to right,var(--paper) 40%,transparent) left/2rem 100% no-repeat local,
linear-gradient(to left,var(--paper) 40%,transparent) right/2rem 100% no-repeat local,
linear-gradient(to right,var(--line),transparent) left/.75rem 100% no-repeat scroll,
linear-gradient(to left,var(--line),transparent) right/.75rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.9rem;line-height:1.4;
font-variant-numeric:tabular-nums}
th,td{padding:.25rem 1rem .25rem 0;border-bottom:1px solid var(--line);text-align:right;
vertical-align:top}
thead th{vertical-align:bottom;border-bottom:1px solid var(--muted)}
tbody tr:last-child>*{border-bottom:0}
th{font-weight:600}tbody th{font-weight:400}
th:first-child,td:first-child,.text{text-align:left}
tbody th{position:sticky;left:0;background:var(--paper);min-width:7rem}
td.text{min-width:8.5rem;max-width:26rem}
.long{white-space:normal;display:inline-block;min-width:11rem;max-width:18rem;text-align:left}
.whole{white-space:nowrap}
tr.part th{padding-left:1.5rem}
.note{color:var(--muted);font-size:.85rem;line-height:1.45;margin:.5rem 0 1rem}
details{margin:.5rem 0}summary{cursor:pointer;padding:.25rem 0}
th details{margin:0;max-width:26rem}th summary{padding:0}
th details p{color:var(--muted);margin:.25rem 0}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
.notice{border-left:3px solid var(--bad);background:var(--surface);padding:.5rem 1rem;
margin:.5rem 0;max-width:70ch}
.verdict{border-left:3px solid var(--accent);padding:.25rem 1rem;margin:.5rem 0;max-width:70ch}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));
gap:1.5rem 2.5rem;align-items:start}figure{margin:1rem 0;min-width:0}
figure svg{display:block;width:100%;max-width:34rem;height:auto}
figcaption{font-size:.9rem;line-height:1.45;color:var(--muted);max-width:66ch}
figcaption b{color:var(--ink)}
@media (max-width:40rem){main{padding:1.5rem 1rem 3rem}h1{font-size:1.5rem}
tbody th{max-width:38vw}th,td{padding-right:.75rem;text-align:left}}
@media print{@page{margin:15mm}:root{--paper:#FFFFFF;--surface:#FFFFFF;--ink:#000000}
main{max-width:none;padding:0}nav,section>details:not([open]),figure details:not([open])
{display:none}th details p{display:none}th summary{list-style:none}
.scroll{overflow:visible}table{font-size:7.5pt}figure,tr{break-inside:avoid}
h2,h3{break-after:avoid}.whole{white-space:normal}tbody th{position:static}
.figures{display:block}figure svg{max-width:120mm}}
"""

#: A number with its unit of up to so many characters is never broken.
_SHORT = 40


def page(title: str, body: str, lang: str = "en") -> str:
    """A whole HTML document."""
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def table_html(table: Table | None, meanings: Sequence[str] = ()) -> str:
    """A table with its title above and its note below; it scrolls inside its own box.

    ``meanings`` has a text a row that opens on demand at the row's name. An absent table, and one
    without rows, gives nothing.
    """
    if table is None or not table.rows:
        return ""
    name = f"table-{table.name}"
    places = range(len(table.headings))
    kinds = [' class="text"' if n in table.texts or not n else "" for n in places]
    head = "".join(
        f'<th scope="col"{kind}>{escape(heading)}</th>'
        for kind, heading in zip(kinds, table.headings, strict=True)
    )
    lines = [
        _line(row, kinds, n in table.parts, meanings[n] if meanings else "")
        for n, row in enumerate(table.rows)
    ]
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h3 id="{name}">{escape(table.title)}</h3>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}"><table>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(lines) + "\n</tbody></table></div>"
        f"{note}"
    )


def _line(row: Sequence[str], kinds: Sequence[str], is_part: bool, meaning: str) -> str:
    """One row; its name opens its meaning."""
    first, *rest = row
    named = details(first, f"<p>{escape(meaning)}</p>") if meaning else escape(first)
    cells = "".join(
        f"<td{kind}>{cell_text(cell, bool(kind))}</td>"
        for kind, cell in zip(kinds[1:], rest, strict=True)
    )
    mark = ' class="part"' if is_part else ""
    return f'<tr{mark}><th scope="row">{named}</th>{cells}</tr>'


def cell_text(cell: str, is_words: bool = False) -> str:
    """A cell for HTML: a rate with its interval stays on one line, a reason wraps."""
    text = escape(cell)
    if cell.endswith("]") or (not is_words and len(cell) <= _SHORT):
        return f'<span class="whole">{text}</span>' if " " in cell else text
    return text if is_words else f'<span class="long">{text}</span>'


def section(heading: str, *parts: str) -> str:
    """A section with its heading, which the page's contents link to."""
    inside = "\n".join(part for part in parts if part)
    return f'<section id="{anchor(heading)}">\n<h2>{escape(heading)}</h2>\n{inside}\n</section>'


def anchor(heading: str) -> str:
    """The id of a section."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def contents(headings: Sequence[str]) -> str:
    """Links to the sections."""
    links = "".join(
        f'<li><a href="#{anchor(heading)}">{escape(heading)}</a></li>' for heading in headings
    )
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; ``kind`` is ``muted``, ``notice``, ``verdict`` or ``note``."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>" if text else ""


def bullets(lines: Sequence[str]) -> str:
    """A list; nothing without lines."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if lines else ""


def details(summary: str, body: str) -> str:
    """What opens on demand; nothing without a body."""
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>" if body else ""


def figure_html(picture: Picture | None) -> str:
    """A figure in the page's own colours, its numbers in words and, on demand, as a table."""
    if picture is None:
        return ""
    drawing = picture.svg[picture.svg.index("<svg") :]
    for name, colour in COLOURS.items():
        drawing = re.sub(re.escape(colour), f"var(--{name})", drawing, flags=re.IGNORECASE)
    opening, rest = drawing.split(">", 1)
    name = f"figure-{picture.name}"
    return (
        f'<figure>{opening} role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(picture.title)}</title>'
        f'<desc id="{name}-desc">{escape(picture.words)}</desc>{rest}'
        f"<figcaption><b>{escape(picture.title)}.</b> {escape(picture.words)}</figcaption>\n"
        f"{details('The numbers of this figure', table_html(picture_table(picture)))}</figure>"
    )


def picture_table(picture: Picture) -> Table:
    """The numbers of a figure; an absent one is an empty cell."""
    data = picture.data
    rows = [[_cell(value) for value in row] for row in data.itertuples(index=False, name=None)]
    return make_table(f"figure_{picture.name}", picture.title, [str(c) for c in data.columns], rows)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else number(value, 2)
    return str(value)
