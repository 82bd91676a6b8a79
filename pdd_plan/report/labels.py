"""The words of a report, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

from typing import ClassVar

from pdd_plan.errors import InputError, Issue
from pdd_plan.report import uncertainty_words, why_words

LANGUAGES = ("en", "zh")

WORDS: dict[str, tuple[str, str]] = {
    # status, architectures, roles
    "optimal": ("optimal plan", "最优方案"),
    "feasible": ("feasible plan", "可行方案"),
    "infeasible": ("no plan meets the limits", "没有满足限制的方案"),
    "evaluated": ("evaluated plan", "已评估方案"),
    "status.optimal": ("optimal", "最优"),
    "status.feasible": ("feasible", "可行"),
    "status.infeasible": ("infeasible", "不可行"),
    "single_site": ("single site", "单站点"),
    "cross_site": ("cross site", "跨站点（无中继）"),
    "pdd": ("PDD", "PDD"),
    "by_size": ("prefill by size", "按长度分流预填充"),
    "homogeneous": ("same engines, all at home", "同数引擎，全在本地"),
    "all_remote": ("all prefill remote", "全部远程预填充"),
    "aggregated": ("aggregated", "混合引擎"),
    "this_plan": ("this plan", "本方案"),
    "prefill": ("prefill", "预填充"),
    "relay": ("relay", "中继"),
    "decode": ("decode", "解码"),
    "one_shot": ("one shot", "一次性"),
    "catch_up": ("catch-up", "追赶"),
    "compute": ("compute", "算力"),
    "memory": ("memory bandwidth", "显存带宽"),
    "network": ("network", "网络"),
    "overhead": ("overhead", "固定开销"),
    "hardware": ("Hardware", "硬件"),
    "hit_rate": ("hit rate", "命中率"),
    "uncached_tokens": ("uncached tokens", "未命中词元数"),
    "transfer_bytes": ("bytes to send", "传输字节数"),
    "high": ("high", "高"),
    "medium": ("medium", "中"),
    "low": ("low", "低"),
    "user": ("user", "用户给定"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "none": ("none", "无"),
    # sections
    "warnings": ("Warnings", "警告"),
    "summary": ("Summary", "概要"),
    "why": ("Why", "说明"),
    "infeasibility": ("Why there is no plan", "为何没有方案"),
    "fleet": ("Fleet", "机群"),
    "pool_details": ("Pools in detail", "资源池明细"),
    "lanes": ("Lanes", "通路"),
    "baselines": ("Against simpler fleets", "与更简单方案的比较"),
    "latency": ("Latency", "时延"),
    "slo": ("Limits", "时延限制"),
    "classes": ("Traffic classes", "流量类别"),
    "regions": ("User regions", "用户地区"),
    "workload": ("Traffic", "流量"),
    "charts": ("Charts", "图表"),
    "sensitivity": ("What would change", "敏感性"),
    "certificate": ("Certificate", "最优性证明"),
    "rejected": ("Engine shapes that are no candidates", "被排除的引擎形状"),
    "assumptions": ("Assumptions", "假设"),
    "reproduce": ("To reproduce", "复现信息"),
    "resilience": ("With a part lost", "部分失效时"),
    "comparison": ("Comparison", "方案比较"),
    # labels of facts
    "cost": ("Cost", "成本"),
    "goodput": ("Goodput", "有效吞吐"),
    "route": ("Route", "路由"),
    "handoff": ("Handoff", "交接"),
    "load": ("Load", "负载"),
    "why_not_less": ("Why not less", "为何不能更少"),
    "would_change": ("Would change", "其他改动"),
    "at_limit": ("At its limit", "已达上限"),
    "command": ("Command", "命令"),
    "version": ("Version", "版本"),
    "scenario": ("Scenario", "场景"),
    "input_hash": ("SHA-256", "SHA-256"),
    "model": ("Model", "模型"),
    "status": ("Status", "状态"),
    "line_name": ("Line", "线路"),
    "traffic_class": ("Class", "类别"),
    "region": ("Region", "地区"),
    "others": ("others", "其他"),
    "objective": ("Objective", "目标"),
    "cost_per_token": ("cost per token", "每词元成本"),
    "bound": ("Bound", "界"),
    "gap": ("Gap", "差距"),
    "solver": ("Solver", "求解器"),
    "proves": ("What it proves", "证明范围"),
    "check": ("Check", "复核"),
    "reason": ("Reason", "原因"),
    "fails": ("Fails", "未满足"),
    "change_one": ("Any one of", "以下任一改动即可"),
    "requests": ("Requests", "请求"),
    "lengths": ("Mean lengths", "平均长度"),
    "arrivals": ("Arrivals", "到达"),
    "hits": ("Hit rates", "命中率"),
    # several services
    "services": ("Services", "服务"),
    "shared": ("Shared by the services", "各服务共享的资源"),
    "service": ("Service", "服务"),
    "there": ("There", "总量"),
    "used": ("Used", "已用"),
    "scarce": ("Scarce", "稀缺"),
    "power_at": ("power at {site}", "{site}供电"),
    "against_plan": ("Against this plan", "相对本方案"),
    # columns
    "pool": ("Pool", "资源池"),
    "site": ("Site", "站点"),
    "role": ("Role", "角色"),
    "chip": ("Chip", "芯片"),
    "shape": ("Shape", "形状"),
    "engines": ("Engines", "引擎数"),
    "chips": ("Chips", "芯片数"),
    "use": ("Use", "利用率"),
    "bound_by": ("Bound by", "瓶颈"),
    "per_hour": ("{currency}/h", "{currency}/小时"),
    "per_chip_hour": ("{currency}/chip/h", "{currency}/芯片/小时"),
    "available": ("Available", "可用"),
    "request_share": ("Requests", "请求占比"),
    "slots": ("Slots/engine", "每引擎槽位"),
    "kv_use": ("KV memory", "KV 显存"),
    "bandwidth": ("Bandwidth", "带宽"),
    "from": ("From", "起点"),
    "to": ("To", "终点"),
    "share": ("Share", "占比"),
    "threshold": ("Threshold", "阈值"),
    "total": ("total", "合计"),
    "contract": ("under contract", "合同保留"),
    "whole_nodes": ("whole nodes", "整机购买"),
    "idle": ("paid, not used", "已付费未用"),
    "line": ("line {a} -> {b}", "线路 {a} -> {b}"),
    "plan": ("Plan", "方案"),
    "per_m_out": ("{currency}/M out", "{currency}/百万输出"),
    "per_m_goodput": ("at goodput", "按有效吞吐"),
    "p50_ttft": ("P50 TTFT", "P50 TTFT"),
    "p90_ttft": ("P90 TTFT", "P90 TTFT"),
    "p99_ttft": ("P99 TTFT", "P99 TTFT"),
    "bcr": ("BCR", "BCR"),
    "metric": ("Metric", "指标"),
    "mean": ("Mean", "均值"),
    "percentile": ("Percentile", "百分位"),
    "limit": ("Limit", "限制"),
    "predicted": ("Predicted", "预测"),
    "met": ("Met", "满足"),
    "within": ("Within", "达标比例"),
    "period": ("Period", "时段"),
    "change": ("Change", "改动"),
    "effect": ("Effect", "效果"),
    "path": ("Path", "路径"),
    "value": ("Value", "取值"),
    "unit": ("Unit", "单位"),
    "source": ("Source", "来源"),
    "confidence": ("Confidence", "可信度"),
    "best": ("Best possible", "可达最好值"),
    # losses
    "lost": ("Lost", "失效部分"),
    "answer": ("Answer", "结果"),
    "tolerates": ("Tolerates", "可容忍"),
    "decided_by": ("Decided by", "决定性失效"),
    "carries": ("Up to req/s", "可承载请求/秒"),
    "nothing_lost": ("nothing", "无"),
    "lost_engines": ("{count} of {name}", "{name} {count} 台引擎"),
    "lost_site": ("site {name}", "站点 {name}"),
    "lost_line": ("line {name}", "线路 {name}"),
    "outage.kept": ("limits kept", "满足限制"),
    "outage.missed": ("limit missed", "未满足限制"),
    "outage.overloaded": ("overloaded", "过载"),
    "outage.no_way_left": ("no way left", "无路可走"),
    # metrics
    "ttft": ("TTFT", "TTFT"),
    "tpot": ("TPOT", "TPOT"),
    "handoff_gap": ("Handoff gap", "交接间隙"),
    "e2e": ("End to end", "端到端"),
    "ttft_direct": ("TTFT direct", "TTFT 直达"),
    "ttft_relay": ("TTFT relay", "TTFT 中继"),
    "ttft_home": ("TTFT home", "TTFT 本地"),
    "ttft_remote": ("TTFT remote", "TTFT 远程"),
    "home": ("home", "本地"),
    "remote": ("remote", "远程"),
    "direct": ("direct", "直达"),
    "all": ("all", "全部"),
    # comparison
    "status_row": ("Status", "状态"),
    "per_m_total": ("{currency}/M total", "{currency}/百万总词元"),
    "relay_requests": ("Relay requests", "中继请求占比"),
    "relay_tokens": ("Relay tokens", "中继词元占比"),
    "chips_row": ("Chips", "芯片数"),
    "line_row": ("Line {a} -> {b}, Gbps", "线路 {a} -> {b}，Gbps"),
    "limits_met": ("Limits met", "满足限制"),
    "demand": ("Demand", "需求"),
    "cost_row": ("Cost", "成本"),
    # charts
    "chart.ttft": ("TTFT by route", "各路径 TTFT 分布"),
    "chart.cost": ("Where the money goes", "成本构成"),
    "chart.use": ("Utilization", "利用率"),
    "chart.hits": ("Hit rates of the traffic", "流量命中率分布"),
    "chart.front": ("Cost against P90 TTFT", "成本与 P90 TTFT"),
    "axis.seconds": ("seconds", "秒"),
    "axis.share_within": ("share of requests within", "达标请求占比"),
    "axis.share": ("share of requests", "请求占比"),
    "axis.hit_rate": ("hit rate at main decode", "主解码命中率"),
    "axis.use": ("offered work / capacity", "负载/容量"),
    "axis.cost": ("{currency} per hour", "{currency}/小时"),
    "axis.p90": ("P90 TTFT, seconds", "P90 TTFT（秒）"),
    "lines": ("lines", "线路"),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "headline": ("{status}, gap {gap}, {time}", "{status}，差距 {gap}，耗时 {time}"),
    "headline_unproven": ("{status}, gap unknown, {time}", "{status}，差距未知，耗时 {time}"),
    "per_m_output": (
        "{amount} {currency} per M output tokens",
        "每百万输出词元 {amount} {currency}",
    ),
    "below": ("{share} below {name}", "比{name}低 {share}"),
    "above": ("{share} above {name}", "比{name}高 {share}"),
    "as_much": ("as much as {name}", "与{name}相同"),
    "limit_met": ("(limit {limit}, met)", "（限制 {limit}，满足）"),
    "limit_missed": ("(limit {limit}, missed)", "（限制 {limit}，未满足）"),
    "beyond": ("beyond the horizon", "超出计算范围"),
    "goodput": ("{rate} req/s on this fleet", "本机群 {rate} 请求/秒"),
    "demand": ("demand {rate}", "需求 {rate}"),
    "rate": ("{rate} req/s", "{rate} 请求/秒"),
    "bcr_against": ("BCR {bcr} against {name}", "BCR {bcr}（相对{name}）"),
    "limited_by": ("limited by {what}", "受限于 {what}"),
    "at_least": ("hit rate >= {value}", "命中率 >= {value} 的请求"),
    "at_most_tokens": ("up to {value} uncached tokens", "未命中词元不超过 {value} 的请求"),
    "at_most_bytes": ("up to {value} to send", "传输量不超过 {value} 的请求"),
    "no_condition": ("a part", "一部分请求"),
    "route": (
        "{condition} goes straight to {sites} ({direct}); the rest through the relay ({relay}), "
        "which makes {tokens} of tokens.",
        "{condition}直达{sites}（{direct}）；其余经中继（{relay}），中继产生 {tokens} 的词元。",
    ),
    "route_home": (
        "every request is prefilled and decoded in {sites}; no line, no relay.",
        "所有请求都在{sites}完成预填充和解码，不用线路，也不用中继。",
    ),
    "route_direct": (
        "every request goes straight to {sites}; none is relayed.",
        "所有请求直达{sites}，不经中继。",
    ),
    "route_relay": (
        "every request goes through the relay, which makes {tokens} of tokens; {sites} makes "
        "the rest.",
        "所有请求都经中继，中继产生 {tokens} 的词元，其余由{sites}产生。",
    ),
    "route_size": (
        "{condition} are prefilled at {home} ({here}); the rest at {remote} ({away}), whose KV "
        "cache puts {gbps} Gbps on the line.",
        "{condition}在{home}预填充（{here}）；其余在{remote}预填充（{away}），其 KV 缓存占用线路 "
        "{gbps} Gbps。",
    ),
    "route_all_remote": (
        "every request is prefilled at {remote}, whose KV cache puts {gbps} Gbps on the line.",
        "所有请求都在{remote}预填充，其 KV 缓存占用线路 {gbps} Gbps。",
    ),
    "size_tokens": (
        "prompts of up to {value} uncached tokens",
        "未命中词元不超过 {value} 的请求",
    ),
    "size_bytes": ("prompts of up to {value} to send", "传输量不超过 {value} 的请求"),
    "lane_route": (
        "from {a} to {b} ({share} of the demand) the threshold is {value}.",
        "从{a}到{b}（占需求 {share}）的阈值为 {value}。",
    ),
    "load": (
        "at the demand of {demand} req/s a million output tokens costs {at_demand} {currency}, "
        "at the goodput of {goodput} req/s {at_goodput} {currency}.",
        "按需求 {demand} 请求/秒，每百万输出词元 {at_demand} {currency}；"
        "按有效吞吐 {goodput} 请求/秒为 {at_goodput} {currency}。",
    ),
    "bcr_less": (
        "BCR {bcr} is {share} less cost per token at goodput than {name}.",
        "BCR {bcr} 即按有效吞吐的每词元成本比{name}低 {share}。",
    ),
    "bcr_more": (
        "BCR {bcr} is {share} more cost per token at goodput than {name}.",
        "BCR {bcr} 即按有效吞吐的每词元成本比{name}高 {share}。",
    ),
    "handoff": (
        "{mode}; the gap at the seam is P50 {p50}, P90 {p90}, P99 {p99}.",
        "{mode}；交接处间隙 P50 {p50}，P90 {p90}，P99 {p99}。",
    ),
    "handoff_tokens": (
        "The relay has made {tokens} tokens by then, on average.",
        "交接时中继平均已产生 {tokens} 个词元。",
    ),
    "handoff_extra": (
        "It costs {relay} more relay tokens and {decode} more work at main decode.",
        "额外产生 {relay} 的中继词元和 {decode} 的主解码工作量。",
    ),
    "handoff_push": (
        "Sending the KV cache instead would give P50 {p50}, P90 {p90}, P99 {p99}.",
        "若改为发送 KV 缓存，则为 P50 {p50}，P90 {p90}，P99 {p99}。",
    ),
    "tolerates_engine": ("1 engine of every pool", "每个资源池 1 台引擎"),
    "tolerates_engines": ("{count} engines of every pool", "每个资源池 {count} 台引擎"),
    "tolerates_any_site": ("any one site", "任一站点"),
    "tolerates_any_line": ("any one line", "任一线路"),
    "or": (", or ", "，或"),
    "without": ("{amount} {unit} without", "不容忍时 {amount} {unit}"),
    "extra": ("{amount} {unit} ({share}) for it", "因此多付 {amount} {unit}（{share}）"),
    "lost_limit": (" ({limit} if lost)", "（失效时 {limit}）"),
    "simpler_survive_nothing": (
        "The simpler fleets need not survive a loss; this one does.",
        "更简单方案不要求容忍失效，本方案要求。",
    ),
    "undivided_pays": (
        "engines that prefill and decode on the same chips keep every limit for {amount} "
        "{currency}/h, {share} less: at this traffic and these prices the split does not pay.",
        "预填充和解码在同一芯片上的引擎以 {amount} {currency}/小时满足所有限制，低 {share}："
        "在此流量和价格下，分离部署并不划算。",
    ),
    "home_share": ("{a} {share}", "{a} {share}"),
    "lane_share": ("{a} -> {b} {share}", "{a} -> {b} {share}"),
    "new_shares": ("requests go {shares}.", "请求改走 {shares}。"),
    "new_threshold": (
        "the threshold is set to {new} instead of {old}.",
        "阈值由 {old} 改为 {new}。",
    ),
    "no_relay": ("nothing is relayed any more.", "不再有请求经中继。"),
    "carries": (
        "Each is lost by itself. Up to req/s: the largest load by the planning rule, which is "
        "stricter than the limits.",
        "各项分别单独失效。可承载的负载按规划规则计算，比时延限制更严格。",
    ),
    "comma": (", ", "，"),
    "next": ("; ", "；"),
    "end": (".", "。"),
    "blank": (" ", ""),
    "effect_no": ("no plan", "无方案"),
    "effect_p90": ("P90 TTFT {p90}", "P90 TTFT {p90}"),
    "effect_cost": ("{amount} {currency}/h", "{amount} {currency}/小时"),
    "binding": ("{what} at {value} of {limit} {unit}", "{what} 为 {value}，上限 {limit} {unit}"),
    "fails": ("{what}: {best} at best, limit {limit}", "{what}：最好 {best}，限制 {limit}"),
    "unbounded": ("no finite value", "无有限值"),
    "rejected": (
        "{count}; the Markdown and HTML reports say why.",
        "{count} 种，原因见 Markdown 和 HTML 报告。",
    ),
    "requests": (
        "{count} requests from {source}, as {atoms} weighted kinds",
        "{source} 的 {count} 个请求，归并为 {atoms} 类加权请求",
    ),
    "kinds": ("{source}, as {atoms} weighted kinds", "{source}，{atoms} 类加权请求"),
    "lengths": (
        "{input} tokens in ({uncached} not cached), {output} out",
        "输入 {input} 词元（未命中 {uncached}），输出 {output}",
    ),
    "mean_hit": ("mean hit rate {value}", "平均命中率 {value}"),
    "hit_95": ("{value} of requests hit 95 % or more", "{value} 的请求命中率不低于 95 %"),
    "blocks_reused": ("{value} of blocks reused", "{value} 的块被复用"),
    "arrivals": (
        "{rate} req/s, {tokens_in} tokens/s in, {tokens_out} tokens/s out",
        "{rate} 请求/秒，输入 {tokens_in} 词元/秒，输出 {tokens_out} 词元/秒",
    ),
    "scv": ("burstiness (SCV) {value}", "突发性（SCV）{value}"),
    "bound": ("{amount} {currency}/h", "{amount} {currency}/小时"),
    "bound_goodput": (
        "{value} req/s, at most {bound} possible",
        "{value} 请求/秒，上界 {bound}",
    ),
    "bound_bcr": (
        "{value} requests per {currency}, at most {bound} possible",
        "每 {currency} {value} 个请求，上界 {bound}",
    ),
    "tie_alone": (
        "then {what}: {value}; the rule promises no plan of this cost below {bound}",
        "其次 {what}：{value}；规划规则不保证同成本方案低于 {bound}",
    ),
    "tie_break": (
        "then {what}: {value}, the least of {count} plans of this cost; the rule promises none "
        "below {bound}",
        "其次 {what}：{value}，为同成本 {count} 个方案中最小；规划规则不保证低于 {bound}",
    ),
    "idle_chips": ("{site} not used", "{site} 未使用"),
    "work": (
        "cuts: {cuts}, evaluations: {evaluations}, {time}",
        "{cuts} 个割平面，{evaluations} 次评估，{time}",
    ),
    "work_shared": (
        "{cuts} plans of services, {evaluations} searches, {time}",
        "{cuts} 个服务方案，{evaluations} 次搜索，{time}",
    ),
    "worth": (
        "one more of {what} would save up to {amount} {currency}/h, by the prices of the proof",
        "每增加一单位 {what}，按证明中的价格最多节省 {amount} {currency}/小时",
    ),
    "bought": ("{line}, {gbps} Gbps bought", "{line}，购买 {gbps} Gbps"),
    "of_cost": (
        "chips {chips}, lines {lines}",
        "芯片 {chips}，线路 {lines}",
    ),
    "tokens_out": ("{rate} tokens/s out", "输出 {rate} 词元/秒"),
    "time_limit": ("time limit {time}", "时间限制 {time}"),
    "thresholds": ("{count} thresholds", "{count} 个阈值"),
    "flow_steps": ("lane shares in {count} steps", "通路占比分 {count} 级"),
    "recomputed": (
        "cost summed again without the solver: {amount} {currency}/h",
        "不经求解器重新计算的成本：{amount} {currency}/小时",
    ),
    "recomputed_met": ("all limits met", "满足所有限制"),
    "recomputed_missed": ("a limit is missed", "有限制未满足"),
    "none_optimized": ("evaluated as given, nothing was optimized", "按给定方案评估，未做优化"),
    "against": ("{what} against {name}", "{what}（相对{name}）"),
    "other_scenarios": (
        "The alternatives come from different scenarios, and their demands differ: costs per "
        "hour are not like for like.",
        "各方案来自不同场景且需求不同，每小时成本不可直接比较。",
    ),
    "other_currencies": (
        "The alternatives are priced in different currencies: no best cost is marked.",
        "各方案的货币不同，因此不标出最低成本。",
    ),
    "legend": (
        "* best of the row; ~ differs between the alternatives.",
        "* 该行最优；~ 各方案不同。",
    ),
    "chart.ttft": (
        "Share of requests whose first token comes within a time, of all requests and by route.",
        "在给定时间内得到首词元的请求占比，按全部请求和各路径。",
    ),
    "chart.cost": (
        "Cost per hour by role and for lines.",
        "按角色和线路的每小时成本。",
    ),
    "chart.use": (
        "Offered work over capacity of every pool and line; a queue has no end at 1.",
        "各资源池和线路的负载与容量之比；达到 1 时排队无限增长。",
    ),
    "chart.hits": (
        "Share of requests by hit rate at main decode.",
        "按主解码命中率的请求占比。",
    ),
    "chart.hits_routed": (
        "Share of requests by hit rate at main decode; those below the threshold are relayed.",
        "按主解码命中率的请求占比；低于阈值的请求经中继。",
    ),
    "chart.alternatives": (
        "Cost per hour and P90 TTFT of every alternative.",
        "各方案的每小时成本与 P90 TTFT。",
    ),
    "chart.front": (
        "Plans that no other plan beats on both cost and P90 TTFT.",
        "在成本与 P90 TTFT 上均不劣于其他方案的方案集合。",
    ),
}

WORDS |= why_words.WORDS
SENTENCES |= why_words.SENTENCES
WORDS |= uncertainty_words.WORDS
SENTENCES |= uncertainty_words.SENTENCES


class Labels:
    """Words and sentences of one language.

    A report of another kind has a subclass with more of either.

    Parameters
    ----------
    language : str
        One of `LANGUAGES`.

    Raises
    ------
    InputError
        If there is no such language.
    """

    words: ClassVar[dict[str, tuple[str, str]]] = WORDS
    sentences: ClassVar[dict[str, tuple[str, str]]] = SENTENCES

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise InputError(
                Issue(
                    f"no reports in language {language!r}",
                    path="--lang",
                    help=f"one of {', '.join(LANGUAGES)}",
                )
            )
        self.language = language
        self._index = LANGUAGES.index(language)

    def knows(self, key: str) -> bool:
        """Return whether there is a word for a key."""
        return key in WORDS

    def word(self, key: str, **values: object) -> str:
        """Return the word of a key that this package chose."""
        return self.words[key][self._index].format(**values)

    def name(self, key: str) -> str:
        """Return the word of a key that came with a plan, or the key itself where none is known."""
        return WORDS[key][self._index] if key in WORDS else key

    def say(self, key: str, **values: object) -> str:
        """Return a sentence with its values filled in."""
        return self.sentences[key][self._index].format(**values)
