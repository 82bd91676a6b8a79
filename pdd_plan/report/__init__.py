"""Plan → view (labels, units, digits) → console, Markdown, CSV, HTML and JSON."""

from pdd_plan.report.comparison import Comparison
from pdd_plan.report.render import FORMATS, render, view_of, write, write_text

__all__ = ["FORMATS", "Comparison", "render", "view_of", "write", "write_text"]
