"""Typed access to the fields of a Hugging Face configuration, with every fault collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    def natural(self, key: str, default: int) -> int:
        """Return a whole number of 0 or more, or a default where the field is absent or null."""
        value = self._data.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.fault(key, f"{key} = {value!r} must be a whole number of 0 or more")
            return default
        return value

    def numbers(self, key: str) -> frozenset[int]:
        """Return a list of whole numbers as a set; empty where the field is absent or null."""
        value = self._data.get(key)
        if value is None:
            return frozenset()
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            self.fault(key, f"{key} must be a list of whole numbers")
            return frozenset()
        return frozenset(value)

    def inner(self, key: str) -> Fields:
        """Return a mapping inside the configuration, empty with a fault if it is none."""
        value = self._data.get(key)
        if value is not None and not isinstance(value, Mapping):
            self.fault(key, f"{key} must be a mapping")
        return Fields(value if isinstance(value, Mapping) else {}, self.file)

    def per_layer(self, key: str, layers: int, known: Sequence[Any] | None = None) -> list[Any]:
        """Return a list with one item per layer; longer lists are cut (trailing MTP layers).

        Parameters
        ----------
        key : str
            Field that holds the list.
        layers : int
            Layers of the model.
        known : sequence, optional
            Items that are understood; whole numbers of 0 or more if not given.
        """
        value = self._data.get(key)
        if not isinstance(value, list) or len(value) < layers:
            length = len(value) if isinstance(value, list) else 0
            self.fault(key, f"{key} has {length} items for {layers} layers")
            return [None] * layers
        for item in value[:layers]:
            fits = (type(item) is int and item >= 0) if known is None else item in known
            if not fits:
                words = "a whole number" if known is None else " or ".join(map(str, known))
                self.fault(key, f"{key} has an item {item!r} where {words} was expected")
                return [None] * layers
        return value[:layers]
