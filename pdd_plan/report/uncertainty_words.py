"""The words about uncertain inputs, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "uncertainty": ("Uncertain inputs", "不确定输入"),
    "drivers": ("What drives the spread, by rank correlation", "波动的来源（秩相关）"),
    "holds": ("Holds", "满足概率"),
    "interval": ("95 % interval", "95 % 区间"),
    "holds_as_written": ("plan as written", "按书写值方案"),
    "every_limit": ("every limit", "全部限制"),
    "what": ("What", "项目"),
    "input": ("Input", "输入"),
    "written": ("Written", "书写值"),
    "confidence_lead": ("Confidence", "置信度"),
    "sampled": ("Sampled", "抽样"),
    "unseen": ("No effect seen", "未见影响"),
    "cost_short": ("cost", "成本"),
    "unstable": ("unstable", "不稳定"),
    "chart.risk": ("P90 TTFT under uncertain inputs", "不确定输入下的 P90 TTFT"),
    "axis.draws": ("share of draws", "抽样占比"),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "headline_confident": (
        "plan that keeps every limit with {confidence} confidence",
        "以 {confidence} 置信度满足全部限制的方案",
    ),
    "confident": (
        "{confidence} was asked for; in {draws} fresh draws every limit held in {share} ({low} to "
        "{high}).",
        "要求 {confidence}；在 {draws} 次新抽样中，全部限制在 {share} 的抽样中满足"
        "（{low} 至 {high}）。",
    ),
    "confident_extra": (
        "It costs {extra} more than the plan for the values as written ({cost} {currency}/h), "
        "which holds in {share}.",
        "比按书写值所做的方案（{cost} {currency}/小时）贵 {extra}，后者仅在 {share} 的抽样中满足。",
    ),
    "confident_unshown": (
        "So few draws do not show {confidence} of that one; more samples may.",
        "抽样次数太少，不足以证明后者达到 {confidence}；增加抽样或可证明。",
    ),
    "confident_same": (
        "The plan for the values as written holds as it is.",
        "按书写值所做的方案本身即可满足。",
    ),
    "not_confident": (
        "{confidence} was asked for, and no fleet that holds with it was found; shown is the plan "
        "for the values as written.",
        "要求 {confidence}，但未找到能以此置信度满足的机群；此处为按书写值所做的方案。",
    ),
    "less_confident": (
        "{confidence} was asked for, and this fleet does not hold with it.",
        "要求 {confidence}，本机群不能以此置信度满足。",
    ),
    "enough_confident": (
        "{confidence} was asked for, and this fleet holds with it.",
        "要求 {confidence}，本机群能以此置信度满足。",
    ),
    "unstable_draws": (
        "In {share} of the draws the fleet cannot carry the load; they count as misses.",
        "在 {share} 的抽样中机群无法承担负载，均计为未满足。",
    ),
    "sampled": (
        "{draws} draws (Latin hypercube, seed {seed}) of inputs that vary independently of each "
        "other. Probabilities are estimates from draws, not proofs, and know nothing of errors of "
        "the model itself.",
        "{draws} 次抽样（拉丁超立方，种子 {seed}），各输入相互独立。概率为抽样估计而非证明，"
        "且不含模型自身的误差。",
    ),
    "searched": (
        "The fleet was found by planning for harder scenarios ({plans} plans, {fleets} fleets "
        "judged); that no cheaper one holds is not proven.",
        "机群由针对更严苛场景的规划得到（{plans} 个方案，评判 {fleets} 个机群）；"
        "未证明没有更便宜的机群。",
    ),
    "chart.risk": (
        "Share of draws by the P90 TTFT of this fleet; {beyond} lie beyond the chart or are "
        "unstable.",
        "按本机群 P90 TTFT 的抽样占比；{beyond} 超出图外或不稳定。",
    ),
    "proof_confident": (
        "not proven least: found by search, then verified by draws",
        "未证明最低：经搜索得到，并以抽样验证",
    ),
}
