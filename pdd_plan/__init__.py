"""Plan LLM inference fleets that split prefill and decode over several data centers."""

__version__ = "0.1.0"
