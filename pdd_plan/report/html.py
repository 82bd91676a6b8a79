"""View → one HTML page that needs nothing else: styles and charts inside, no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pdd_plan.report.blocks import Block, Facts, Sentences, Table, Text, View
from pdd_plan.report.svg import CHART_RULES, COLORS, render_svg

STYLE = (
    COLORS
    + CHART_RULES
    + """*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:64rem;background:var(--paper);
color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",
"Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.25rem 0 .6rem}
h3{font-size:.95rem;margin:1.5rem 0 .1rem}
p{margin:.35rem 0}.sub{color:var(--soft);margin:0}.sub.bad{color:var(--bad);font-weight:600}
.box{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere;min-width:3.2rem}
td:not(.right),tbody th:not(.right){min-width:6.5rem}
td:first-child,tbody th:first-child{min-width:8rem}
thead th{background:var(--head);font-weight:600;font-size:.85rem;color:var(--soft);
overflow-wrap:normal}
.right{text-align:right;white-space:nowrap}
tbody th{font-weight:400}tr.total td,tr.total th{font-weight:600;border-top:2px solid var(--line)}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1.25rem;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
dd span{display:inline-block;margin-right:1.1rem}
.good{color:var(--good)}.bad{color:var(--bad);font-weight:600}.best{color:var(--good);
font-weight:700}.changed{color:var(--changed)}.strong{font-weight:700}.faint{color:var(--soft)}
section.warnings{border-left:4px solid var(--bad);padding:.1rem 1rem .4rem;margin-top:1.25rem;
background:var(--head)}section.warnings h2{margin-top:.5rem}
section.reproduce dd{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.85rem}
@media print{body{max-width:none;padding:0}section{break-inside:avoid}}
"""
)


def render_html(view: View) -> str:
    """Return a report as one self-contained page.

    Parameters
    ----------
    view : View
        Report of a plan or of a comparison.

    Returns
    -------
    str
        HTML that loads nothing and runs nothing; every text in it is escaped.
    """
    language = "zh-CN" if view.language == "zh" else view.language
    refused = "" if view.good else " bad"
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="{language}">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(view.title)}: {escape(view.subtitle)}</title>",
        f"<style>{STYLE}</style></head>",
        "<body>",
        f'<header><h1>{escape(view.title)}</h1><p class="sub{refused}">'
        f"{escape(view.subtitle)}</p></header>",
    ]
    for section in view.full_sections():
        parts.append(f'<section class="{section.key}"><h2>{escape(section.title)}</h2>')
        parts += [line for block in section.blocks for line in _block(block)]
        parts.append("</section>")
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Facts):
        yield "<dl>"
        for fact in block.facts:
            said = " ".join(_marked(text, always=True) for text in fact.texts)
            yield f"<dt>{escape(fact.label)}</dt><dd>{said}</dd>"
        yield "</dl>"
    elif isinstance(block, Sentences):
        for sentence in block.sentences:
            lead = f"<b>{escape(sentence.lead)}:</b> " if sentence.lead else ""
            yield f"<p>{lead}{_marked(Text(sentence.text, sentence.mark))}</p>"
    elif isinstance(block, Table):
        yield from _table(block)
    else:
        yield f"<h3>{escape(block.title)}</h3><p>{escape(block.description)}</p>"
        yield render_svg(block)


def _marked(text: Text, always: bool = False) -> str:
    if not text.mark:
        return f"<span>{escape(text.text)}</span>" if always else escape(text.text)
    return f'<span class="{text.mark}">{escape(text.text)}</span>'


def _table(table: Table) -> Iterator[str]:
    yield '<div class="box"><table><thead><tr>'
    for column in table.columns:
        style = ' class="right"' if column.right else ""
        yield f'<th scope="col"{style}>{escape(column.label)}</th>'
    yield "</tr></thead><tbody>"
    for number, cells in enumerate(table.rows):
        last = table.total and number == len(table.rows) - 1
        yield '<tr class="total">' if last else "<tr>"
        for index, (cell, column) in enumerate(zip(cells, table.columns, strict=True)):
            style = ' class="right"' if column.right else ""
            head = index < table.heads
            tag, scope = ("th", ' scope="row"') if head else ("td", "")
            yield f"<{tag}{scope}{style}>{_marked(cell)}</{tag}>"
        yield "</tr>"
    yield "</tbody></table></div>"
