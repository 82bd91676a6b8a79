"""The words of a sweep's report, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

from pdd_plan.report.labels import Labels

WORDS: dict[str, tuple[str, str]] = {
    "varied": ("Varied", "变动参数"),
    "points": ("Points", "各点"),
    "front_points": ("Front", "前沿"),
    "best_point": ("Cheapest", "最低成本"),
    "dearest_point": ("Dearest", "最高成本"),
    "crossings": ("Where fleets change places", "方案优劣交叉点"),
    "no_plan": ("Points without a plan", "没有方案的点"),
    "kind": ("Kind", "类型"),
    "chips_by_role": ("Chips P+R+D", "芯片 P+R+D"),
    "plan_curve": ("plan", "方案"),
    "on_front": ("Front", "前沿"),
    "gbps": ("Gbps", "Gbps"),
    "relay_tokens_short": ("Relay tokens", "中继词元"),
    "status.input_error": ("wrong input", "输入错误"),
    "status.solver_failed": ("solver failed", "求解器失败"),
    "status.error": ("error", "错误"),
    "mixed": ("mixed", "混合"),
    "letter.single_site": ("s", "单"),
    "letter.cross_site": ("x", "跨"),
    "letter.pdd": ("p", "P"),
    "letter.mixed": ("m", "混"),
    "chart.sweep_cost": ("Cost per token", "每词元成本"),
    "chart.sweep_levers": ("Cost per token along each axis", "沿各轴的每词元成本"),
    "chart.sweep_ttft": ("P90 TTFT", "P90 TTFT"),
    "chart.sweep_goodput": ("Goodput", "有效吞吐"),
    "chart.service_cost": ("Cost of each service", "各服务的成本"),
    "chart.service_ttft": ("P90 TTFT of each service", "各服务的 P90 TTFT"),
    "chart.sweep_chips": ("Chips", "芯片数"),
    "chart.sweep_map": ("Cost per token", "每词元成本"),
    "chart.sweep_kinds": ("Cheapest kind of fleet", "最便宜的方案类型"),
    "axis.per_m_out": ("{currency} per M output tokens", "{currency}/百万输出词元"),
    "axis.goodput": ("requests per second", "请求/秒"),
    "axis.chips": ("chips", "芯片数"),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "sweep_title": (
        "sweep of {points}, {planned} with a plan",
        "扫描 {points}，{planned} 个有方案",
    ),
    "front_title": (
        "front of cost against P90 TTFT, {count} of {points}",
        "成本与 P90 TTFT 前沿，{points}中的 {count} 个",
    ),
    "point_count": ("{count} points", "{count} 个点"),
    "one_point": ("1 point", "1 个点"),
    "values": ("{first} to {last}, {count} values", "{first} 至 {last}，{count} 个取值"),
    "swept": ("{path}: {values}", "{path}：{values}"),
    "at_point": ("at {values}", "{values}"),
    "and_kind": (" and ", "和"),
    "crossing_both": (
        "{below} are cheaper up to {low}, {above} from {high}.",
        "至 {low} 为止{below}更便宜，自 {high} 起{above}更便宜。",
    ),
    "crossing": (
        "{below} is cheaper up to {low}, {above} from {high}.",
        "至 {low} 为止{below}更便宜，自 {high} 起{above}更便宜。",
    ),
    "meet": (
        "Lines between the points meet at {at} ({value}).",
        "各点连线交于 {at}（{value}）。",
    ),
    "cheapest_only": (
        "The {shown} cheapest of {count}; write the others with --output, to CSV or HTML say.",
        "{count} 个点中最便宜的 {shown} 个；其余可用 --output 写入 CSV 或 HTML。",
    ),
    "letters": (
        "{currency} per M output tokens; {single} single site, {cross} cross site, {pdd} PDD, "
        "- no plan.",
        "每百万输出词元的 {currency}；{single} 单站点，{cross} 跨站点，{pdd} PDD，- 无方案。",
    ),
    "letters_of_services": (
        "{currency} per M output tokens; all services {single} single site, {cross} cross site, "
        "{pdd} PDD, or {mixed} mixed; - no plan.",
        "每百万输出词元的 {currency}；各服务均为 {single} 单站点、{cross} 跨站点、{pdd} PDD，"
        "或 {mixed} 混合；- 无方案。",
    ),
    "services_in_files": (
        "{count} rows, one a service and point: write them with --output, to CSV or HTML say.",
        "共 {count} 行（每点每服务一行）：可用 --output 写入 CSV 或 HTML。",
    ),
    "of_service": ("{name} {said}", "{name} {said}"),
    "several_points": ("{first} and {count} more", "{first} 等另 {count} 个"),
    "least_over_others": (
        "The least over all values of {others}.",
        "对 {others} 的所有取值取最小。",
    ),
    "rows_of": ("Rows: {path}. Columns: {other}.", "行：{path}。列：{other}。"),
    "chart.sweep_cost": (
        "Cost of a million output tokens at the demand: of the plan, and of the best fleet of "
        "each kind.",
        "按需求计的每百万输出词元成本：方案及各类最优机群。",
    ),
    "chart.sweep_levers": (
        "Cost of a million output tokens at the demand along each axis, at the middle value of "
        "the other: of the plan, and of the best fleet of each kind. Rings: where lines between "
        "the points of two kinds cross.",
        "按需求计的每百万输出词元成本：分别沿各轴变化，另一轴取中间值。圆圈为两类机群连线的交点。",
    ),
    "at_value": ("At {path} = {value}: {said}", "{path} = {value} 时：{said}"),
    "chart.sweep_ttft": (
        "P90 TTFT of the plan, and of the best fleet of each kind.",
        "方案及各类最优机群的 P90 TTFT。",
    ),
    "chart.service_cost": (
        "Chips of each service and its share of the lines.",
        "各服务的芯片成本及其分摊的线路成本。",
    ),
    "chart.service_ttft": (
        "P90 TTFT of each service in the plan.",
        "方案中各服务的 P90 TTFT。",
    ),
    "chart.sweep_goodput": (
        "Largest load that the plan carries within its limits.",
        "方案在满足限制时可承载的最大负载。",
    ),
    "chart.sweep_chips": (
        "Chips of the plan by role.",
        "方案中各角色的芯片数。",
    ),
    "chart.sweep_map": (
        "Cost of a million output tokens at the demand; the darker, the dearer. Empty: no plan.",
        "按需求计的每百万输出词元成本；颜色越深越贵。空白：无方案。",
    ),
    "chart.sweep_kinds": (
        "Which kind of fleet the plan is.",
        "方案所属的类型。",
    ),
    "chart.sweep_front": (
        "Plans that no other plan beats on both cost and P90 TTFT. Between two plans one gets "
        "what the left one gives.",
        "在成本与 P90 TTFT 上均不劣于其他方案的方案集合。两点之间取左侧方案。",
    ),
    "front_method": (
        "{limits} limits on P90 TTFT were tried, and parted further wherever the cost changed; "
        "between limits of equal cost there is no cheaper plan.",
        "共试了 {limits} 个 P90 TTFT 限制，并在成本变化处继续细分；"
        "成本相同的限制之间没有更便宜的方案。",
    ),
}


class SweepLabels(Labels):
    """Words of a report, those of a sweep among them."""

    words = Labels.words | WORDS
    sentences = Labels.sentences | SENTENCES

    def kind(self, value: object) -> str:
        """Return the word for a kind of fleet or a status; `-` for none."""
        if not value:
            return "-"
        return self.word(str(value)) if value in WORDS else self.name(str(value))

    def status(self, value: object) -> str:
        """Return the word for what came of a point."""
        key = f"status.{value}"
        return self.word(key) if key in WORDS else super().name(key)
