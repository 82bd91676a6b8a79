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
    "break_even": ("Break-even", "盈亏平衡"),
    "pays_what": ("What", "对象"),
    "pays_at": ("Pays at", "划算"),
    "fails_at": ("Not at", "不划算"),
    "without_it": ("{currency}/h without", "无此项 {currency}/小时"),
    "pays.split": ("a fleet over several sites", "跨站点机群"),
    "pays.relay": ("the relay", "中继"),
    "varied.price": ("price", "价格"),
    "varied.fixed_price": ("fixed price", "固定价格"),
    "varied.rtt": ("RTT", "往返时延"),
    "varied.bandwidth": ("bandwidth", "带宽"),
    "varied.available": ("stock", "库存"),
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
    "break_even_of": ("break-even of {path}", "{path} 的盈亏平衡"),
    "own": ("its {varied}", "其{varied}"),
    "part": (", ", " "),
    "pays_below": (
        "{who} pays while {varied} is at most {at}",
        "{who} 在{varied}不高于 {at} 时划算",
    ),
    "pays_above": (
        "{who} pays while {varied} is at least {at}",
        "{who} 在{varied}不低于 {at} 时划算",
    ),
    "pays_now": ("; now {now}", "；当前 {now}"),
    "pays_always": (
        "{who} pays at every {varied} tried, from {low} to {high}.",
        "{who} 在所试各{varied}（{low} 至 {high}）下都划算。",
    ),
    "pays_never": (
        "{who} pays at no {varied} tried, from {low} to {high}.",
        "{who} 在所试各{varied}（{low} 至 {high}）下都不划算。",
    ),
    "pays_needed": ("There is no plan without {who}.", "没有 {who} 就没有可行方案。"),
    "pays_unknown": ("{who} by {varied}: not known, {reason}", "{who}（{varied}）：未知，{reason}"),
    "pays_unproven": (
        "Not proven: the gaps of the plans leave it open.",
        "未证明：方案的最优性差距不足以判定。",
    ),
    "distance": ("In fiber that is at most {km} km.", "对应光纤距离至多 {km} 公里。"),
    "distance_any": (
        "In fiber that is farther than any two places on earth.",
        "对应光纤距离超过地球上任意两地。",
    ),
}
