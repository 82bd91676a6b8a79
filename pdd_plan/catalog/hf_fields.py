"""Typed access to the fields of a Hugging Face configuration, with every fault collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pdd_plan.errors import InputError, Issue


class Fields:
    """Fields of a configuration; a ``text_config`` inside takes precedence.

    Parameters
    ----------
    config : Mapping[str, Any]
        Content of ``config.json``.
    file : str
        File name for messages.
    """

    def __init__(self, config: Mapping[str, Any], file: str = "") -> None:
        inner = config.get("text_config")
        self._data = {**config, **inner} if isinstance(inner, Mapping) else dict(config)
        self.file = file
        self._issues: dict[str, Issue] = {}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field as it stands, or a default."""
        return self._data.get(key, default)

    def fault(self, key: str, message: str, help: str = "") -> None:  # noqa: A002
        """Note one thing that is wrong with a field."""
        self._issues.setdefault(key, Issue(message, key, self.file, help=help))

    def finish(self) -> None:
        """Raise all faults noted so far.

        Raises
        ------
        InputError
            If there is any.
        """
        if self._issues:
            raise InputError(self._issues.values())

    def count(self, key: str) -> int:
        """Return a positive whole number; 1 with a fault if it is missing or impossible."""
        value = self._data.get(key)
        if value is None:
            self.fault(key, f"{key} is missing", "this architecture needs it")
            return 1
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.fault(key, f"{key} = {value!r} must be a positive whole number")
            return 1
        return value

    def optional_count(self, key: str) -> int | None:
        """Return a positive whole number, or None where the field is absent or null."""
        return None if self._data.get(key) is None else self.count(key)

    def first(self, *keys: str) -> int | None:
        """Return the first of several fields that is present and not null or 0."""
        for key in keys:
            if self._data.get(key):
                return self.count(key)
        return None

    def first_count(self, *keys: str) -> int:
        """Return the first of several fields that is present; a fault if none is."""
        found = self.first(*keys)
        return found if found is not None else self.count(keys[0])

    def per_layer(self, key: str, layers: int) -> list[Any]:
        """Return a list with one item per layer; longer lists are cut (trailing MTP layers)."""
        value = self._data.get(key)
        if not isinstance(value, list) or len(value) < layers:
            length = len(value) if isinstance(value, list) else 0
            self.fault(key, f"{key} has {length} items for {layers} layers")
            return [None] * layers
        return value[:layers]
