"""Pieces of a self-contained HTML page: style, tables, sections. No request leaves the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from analysis.plots import ACCENT, INK, MUTED, PAPER

_STYLE = """
:root{color-scheme:light dark;--paper:#FBFAF7;--surface:#FFFFFF;--line:#D9D6CE;--ink:#1F2328;
--muted:#5B6470;--accent:#1F5A6B;--bad:#9B2C2C;--focus:#B45309}
@media (prefers-color-scheme:dark){:root{--paper:#14171A;--surface:#1B1F23;--line:#343A41;
--ink:#E8E6E1;--muted:#A3ABB5;--accent:#7CC4D6;--bad:#F0A3A3;--focus:#F5B556}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.6;
font-family:Charter,"Bitstream Charter","Iowan Old Style","Source Serif 4",Georgia,serif}
main{max-width:62rem;margin:0 auto;padding:2.5rem 1rem 4rem}
h1{font-size:1.9rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1.35rem;margin:2.5rem 0 .5rem}
p,li{max-width:66ch}.muted{color:var(--muted)}
table,summary,svg text,nav{font-family:system-ui,-apple-system,"Segoe UI",sans-serif!important}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;line-height:1.4;margin:.5rem 0 1rem;
font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--muted);max-width:66ch;padding:0 0 .5rem}
th,td{padding:.25rem 1rem .25rem 0;border-bottom:1px solid var(--line);text-align:right;
vertical-align:top}
th{font-weight:600}tbody th{font-weight:400}
th:first-child,td:first-child,.text{text-align:left}
.whole{white-space:nowrap}
tr.part th{padding-left:1.5rem}
details{margin:.25rem 0}summary{cursor:pointer}
th details{margin:0;max-width:26rem}th details p{color:var(--muted);margin:.25rem 0}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px}
.notice{border-left:3px solid var(--bad);background:var(--surface);padding:.5rem 1rem;
margin:.5rem 0;max-width:70ch}
figure{margin:1rem 0}figure svg{max-width:100%;height:auto}
@media print{body{background:none}details:not([open]){display:none}}
"""


def page(title: str, body: str) -> str:
    """A whole HTML document."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    texts: Sequence[int] = (),
) -> str:
    """A table; the first column names the rows, those at the places ``texts`` hold words."""
    kinds = [' class="text"' if place in texts else "" for place in range(len(headings))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(text)}</th>'
        for kind, text in zip(kinds, headings, strict=True)
    )
    lines = [
        "<tr>"
        + f'<th scope="row">{escape(str(first))}</th>'
        + "".join(
            f"<td{kind}>{cell_text(cell)}</td>" for kind, cell in zip(kinds[1:], rest, strict=True)
        )
        + "</tr>"
        for first, *rest in rows
    ]
    return table_of(head, lines, caption)


def cell_text(cell: object) -> str:
    """A cell's text for HTML; a rate with its interval stays on one line."""
    text = escape(str(cell))
    return f'<span class="whole">{text}</span>' if text.endswith("]") else text


def table_of(head: str, lines: Sequence[str], caption: str) -> str:
    """A table of ready ``<th>`` cells and ``<tr>`` lines."""
    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return (
        f'<div class="scroll" tabindex="0"><table>{top}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def section(heading: str, *parts: str) -> str:
    """A section with its heading."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n" + "\n".join(parts) + "\n</section>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; ``kind`` is ``muted`` or ``notice``."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def details(summary: str, body: str) -> str:
    """What opens on demand."""
    return f"<details><summary>{escape(summary)}</summary>\n{body}\n</details>"


def figure(svg: str, title: str, description: str) -> str:
    """An SVG drawn into the page, with a text alternative and the page's own colours."""
    drawing = svg[svg.index("<svg") :]
    for colour, name in ((ACCENT, "accent"), (INK, "ink"), (MUTED, "muted"), (PAPER, "paper")):
        drawing = drawing.replace(colour, f"var(--{name})")
    opening, rest = drawing.split(">", 1)
    return (
        f'<figure>{opening} role="img" aria-label="{escape(title)}. {escape(description)}">'
        f"{rest}<figcaption>{escape(title)}</figcaption></figure>"
    )
