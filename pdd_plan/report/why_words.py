"""The words for what changes of a scenario do, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "tornado": ("What moves the cost", "成本敏感性"),
    "probed": ("Changed", "变动项"),
    "now": ("Now", "当前"),
    "by": ("By", "幅度"),
    "lower": ("Lower", "调低"),
    "higher": ("Higher", "调高"),
    "chart.tornado": ("What moves the cost", "成本敏感性"),
    "axis.tornado.cost_per_token": ("change of cost per token, %", "每词元成本变化（%）"),
    "axis.tornado.goodput": ("change of goodput, %", "有效吞吐变化（%）"),
    "axis.tornado.bcr": ("change of cost per token at goodput, %", "有效吞吐下每词元成本变化（%）"),
    "no_plan_cell": ("no plan", "无方案"),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "probe.price": ("price of {subject}", "{subject} 价格"),
    "probe.limit": ("limit {subject}", "限制 {subject}"),
    "probe.stock": ("stock of {subject}", "{subject} 库存"),
    "probe.bandwidth": ("line {subject}", "线路 {subject}"),
    "probe.rate": ("arrival rate", "到达率"),
    "probe.hit_rate": ("mean hit rate", "平均命中率"),
    "probe.budget": ("budget", "预算"),
    "chart.tornado": (
        "How far the cost per token, or the goodput where that is the objective, moves if one "
        "value is changed and the best fleet planned anew.",
        "改变单个参数并重新规划最优机群后，每词元成本（目标为有效吞吐时则为有效吞吐）的变化。",
    ),
    "tornado_note.cost_per_token": (
        "Cost per token of the best fleet after each change alone, against that of the plan.",
        "每次只改一项并重新规划，最优机群的每词元成本相对当前方案的变化。",
    ),
    "tornado_note.goodput": (
        "Goodput of the best fleet after each change alone, against that of the plan.",
        "每次只改一项并重新规划，最优机群的有效吞吐相对当前方案的变化。",
    ),
    "tornado_note.bcr": (
        "Cost per token at goodput of the best fleet after each change alone, against the plan's.",
        "每次只改一项并重新规划，最优机群在有效吞吐下的每词元成本相对当前方案的变化。",
    ),
    "tornado_star": ("* with another fleet.", "* 最优机群不同。"),
    "tornado_gap": (
        "~ within the gap that the proofs leave: the direction is not certain.",
        "~ 在最优性差距之内，变化方向不确定。",
    ),
    "tornado_refused": ("{what} {value}: {reason}", "{what} {value}：{reason}"),
    "tornado_idle": ("Without effect: {names}.", "无影响：{names}。"),
}
