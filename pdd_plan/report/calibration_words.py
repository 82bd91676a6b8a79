"""The words of a calibration's report, in English and Chinese."""
# ruff: noqa: RUF001  # the full-width signs are Chinese punctuation

from __future__ import annotations

from pdd_plan.report.labels import Labels

WORDS: dict[str, tuple[str, str]] = {
    "parameters": ("Fitted", "拟合结果"),
    "kept": ("Kept at the default", "保持默认值"),
    "points": ("Points", "测量点"),
    "paste": ("To use it", "使用方法"),
    "measured_points": ("Points", "测量点"),
    "line_to_paste": ("Line", "配置行"),
    "where": ("Where", "位置"),
    "top_level": ("at the top level of the scenario", "场景文件顶层"),
    "besides": ("Besides", "另需"),
    "parameter": ("Parameter", "参数"),
    "fitted": ("Fitted", "拟合值"),
    "range": ("80 % range", "80 % 区间"),
    "default": ("Default", "默认值"),
    "row": ("Line", "行"),
    "point": ("Point", "测量点"),
    "measure": ("What", "指标"),
    "measured": ("Measured", "实测"),
    "off": ("Off", "偏差"),
    "off_default": ("Default off", "默认偏差"),
    "off_left_out": ("Left out", "留一偏差"),
    "measurements": ("Measurements", "测量文件"),
    "step": ("step", "步"),
    "throughput": ("s/token", "秒/词元"),
    "meaning.compute": ("share of peak compute", "算力峰值占比"),
    "meaning.compute_moe": ("factor on it, prefill of experts", "MoE 预填充系数"),
    "meaning.dedicated_prefill": ("factor on it, prefill alone", "专用预填充系数"),
    "meaning.memory": ("share of memory bandwidth", "显存带宽占比"),
    "meaning.kernel": ("per kernel", "每个内核"),
    "meaning.collective": ("per collective", "每次集合通信"),
    "meaning.link": ("share of scale-up bandwidth", "卡间带宽占比"),
    "meaning.request_step": ("host, per request and step", "主机，每请求每步"),
    "meaning.host": ("host, per request", "主机，每请求"),
    "meaning.arrival_steps": ("steps before the first token", "首词元前的步数"),
    "meaning.accepted_tokens": ("tokens kept per step", "每步接受词元数"),
    "chart.residuals": ("Residuals", "残差"),
    "axis.measured": ("measured time, ms", "实测时间（毫秒）"),
    "axis.off": ("predicted / measured - 1, %", "预测/实测 - 1（%）"),
    "quantity.batch": ("batch", "批大小"),
    "quantity.context": ("context", "上下文长度"),
    "quantity.chips": ("chips", "芯片数"),
    "quantity.input length": ("input length", "输入长度"),
}

SENTENCES: dict[str, tuple[str, str]] = {
    "title": ("{chip} with {model} under {framework}", "{chip}，{model}，{framework}"),
    "subtitle": (
        "{count} points, {parameters} parameters fitted",
        "{count} 个测量点，拟合 {parameters} 个参数",
    ),
    "error": ("{after} off in the median", "中位偏差 {after}"),
    "error_before": ("{before} with the defaults", "默认参数为 {before}"),
    "error_left_out": (
        "{left} for a point that the fit has not seen",
        "未参与拟合的点为 {left}",
    ),
    "kinds": ("{count} {phase}", "{count} 个 {phase}"),
    "others": ("{count} of other chips left out", "其他芯片的 {count} 个点未使用"),
    "outliers": (
        "{count} more than four standard deviations off, which hardly count",
        "{count} 个偏差超过四倍标准差，几乎不计入",
    ),
    "range_note": (
        "The range holds the true value with 80 % confidence, if the form of the roofline is "
        "right; it is that of the scatter of these points, not of other loads or versions.",
        "若屋顶线形式成立，区间以 80 % 置信度包含真值；它只反映这些点的离散度，"
        "不反映其他负载或版本。",
    ),
    "kept_as_asked": ("{value}, as asked for", "{value}（按要求保持）"),
    "kept_since": ("{value}: {reason}", "{value}：{reason}"),
    "reason_silent": (
        "twice its value changes no prediction by more than {change}",
        "其值加倍对任何预测的影响不超过 {change}",
    ),
    "reason_partner": (
        "its effect on these points cannot be told from that of {partner}",
        "在这些点上其影响与 {partner} 无法区分",
    ),
    "reason_small": (
        "its effect is small beside the scatter of the points",
        "其影响小于测量点的离散度",
    ),
    "reason_alike": ("all points have {what} {value}", "所有点的{what}均为 {value}"),
    "reason_none": (
        "no point has a {what} that counts for it",
        "没有可用于它的{what}",
    ),
    "framework": (
        "{line}, since host times are those of the framework",
        "{line}，因为主机时间因框架而异",
    ),
    "furthest": (
        "The {shown} of {count} measurements furthest off; write the others with --output, to "
        "HTML or CSV say.",
        "{count} 个测量值中偏差最大的 {shown} 个；其余可用 --output 写入 HTML 或 CSV。",
    ),
    "lengths": ("{input} in", "输入 {input}"),
    "cached": ("{cached} cached", "缓存 {cached}"),
    "outputs": ("{output} out", "输出 {output}"),
    "batch_of": ("x{batch}", "x{batch}"),
    "comma": (", ", "，"),
    "chart.residuals": (
        "How far each point lies from the fit; the dashed lines mark the scatter of TPOT.",
        "各点与拟合的偏差；虚线为 TPOT 的离散度。",
    ),
}


class CalibrationLabels(Labels):
    """Words of a report, those of a calibration among them."""

    words = Labels.words | WORDS
    sentences = Labels.sentences | SENTENCES
