"""Sentences of the report of a plan, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

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
