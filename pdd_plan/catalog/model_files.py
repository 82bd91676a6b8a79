"""Built-in model profiles, and the way from a name, path or set of numbers to a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pdd_plan.catalog.attention import Attention, Span
from pdd_plan.catalog.documents import Document, Reader, nearest, read_yaml
from pdd_plan.catalog.hf_config import model_from_config, read_config
from pdd_plan.catalog.model_numbers import model_from_numbers
from pdd_plan.catalog.models import LayerGroup, ModelProfile
from pdd_plan.catalog.resources import model_profiles, profile_names
from pdd_plan.errors import InputError, Issue

_KEYS = (
    "kind",
    "name",
    "title",
    "aliases",
    "source",
    "date",
    "confidence",
    "hidden_size",
    "vocab_size",
    "tied_embeddings",
    "kernels_per_layer",
    "max_context_tokens",
    "layers",
    "notes",
)


def model_names() -> list[str]:
    """Return the names of all built-in models, sorted."""
    return profile_names(model_profiles())


def load_model(name_or_path: str | Path) -> ModelProfile:
    """Load a model by name, or from a file.

    Parameters
    ----------
    name_or_path : str or Path
        Built-in name or alias (``deepseek-v3``), a Hugging Face ``config.json`` or the folder
        that holds one, or a YAML file of numbers (see `model_from_numbers`).

    Returns
    -------
    ModelProfile

    Raises
    ------
    InputError
        If the model or architecture is unknown, or the file is malformed.
    """
    name = str(name_or_path)
    path = Path(name)
    if name.endswith((".yaml", ".yml")):
        document = read_yaml(path, name)
        if (
            isinstance(document.data, dict)
            and "layers" in document.data
            and isinstance(document.data["layers"], list)
        ):
            return profile_from_document(document, path.stem)
        return model_from_numbers(document.data, document=document)
    if name.endswith(".json") or (path / "config.json").is_file():
        stem = path.stem if path.suffix == ".json" and path.stem != "config" else ""
        folder = path if path.is_dir() else path.resolve().parent
        title = stem or folder.name
        return model_from_config(
            read_config(path, name), name=title.lower(), title=title, source=name, file=name
        )
    key = name.strip().rpartition("/")[2].lower().replace("_", "-").replace(" ", "-")
    if key in model_names():
        return _built_in(key)
    aliases = _aliases()
    if key in aliases:
        return _built_in(aliases[key])
    hint = nearest(key, [*model_names(), *aliases]) or "known: " + ", ".join(model_names())
    raise InputError(
        Issue(f"unknown model '{name}'", help=f"{hint}; or give the path of a config.json")
    )


@lru_cache(maxsize=128)
def _built_in(name: str) -> ModelProfile:
    document = read_yaml(model_profiles() / f"{name}.yaml", f"catalog/models/{name}.yaml")
    return profile_from_document(document, name)


@lru_cache(maxsize=1)
def _aliases() -> Mapping[str, str]:
    result: dict[str, str] = {}
    for name in model_names():
        data = read_yaml(model_profiles() / f"{name}.yaml").data
        result.update({str(alias): name for alias in data.get("aliases") or ()})
    return MappingProxyType(result)


def profile_to_mapping(model: ModelProfile) -> dict[str, Any]:
    """Return a model profile as plain data, as the built-in YAML files hold it."""
    data: dict[str, Any] = {"kind": "model"}
    for key in _KEYS[1:]:
        if key not in ("layers", "notes", "aliases"):
            data[key] = getattr(model, key)
    data["layers"] = [asdict(group) for group in model.groups]
    for layer in data["layers"]:
        layer["attention"]["spans"] = [
            {key: value for key, value in span.items() if value is not None}
            for span in layer["attention"]["spans"]
        ]
    data["notes"] = list(model.notes)
    return data


def profile_from_document(document: Document, name: str) -> ModelProfile:
    """Build a model profile from the data that `profile_to_mapping` makes.

    Parameters
    ----------
    document : Document
        Parsed YAML.
    name : str
        Id, if the file states none.

    Returns
    -------
    ModelProfile

    Raises
    ------
    InputError
        If the file is malformed.
    """
    reader = Reader(document)
    data = reader.root(_KEYS)
    for key in ("hidden_size", "vocab_size", "kernels_per_layer", "layers", "source", "date"):
        if key not in data:
            reader.fault((), f"{key} is missing")
    reader.finish()
    groups = []
    for i, layer in enumerate(data["layers"]):
        try:
            groups.append(_group(layer))
        except (TypeError, KeyError, ValueError) as error:
            reader.fault(("layers", i), f"layers.{i} is malformed: {error}")
    reader.finish()
    return ModelProfile(
        name=str(data.get("name", name)),
        title=str(data.get("title", name)),
        groups=tuple(groups),
        hidden_size=int(data["hidden_size"]),
        vocab_size=int(data["vocab_size"]),
        tied_embeddings=bool(data.get("tied_embeddings", False)),
        kernels_per_layer=int(data["kernels_per_layer"]),
        max_context_tokens=data.get("max_context_tokens"),
        source=str(data["source"]),
        date=str(data["date"]),
        confidence=str(data.get("confidence", "user")),
        notes=tuple(data.get("notes") or ()),
    )


def _group(layer: Mapping[str, Any]) -> LayerGroup:
    attention = dict(layer["attention"])
    spans = tuple(Span(**span) for span in attention.pop("spans", ()))
    rest = {key: value for key, value in layer.items() if key != "attention"}
    return LayerGroup(attention=Attention(spans=spans, **attention), **rest)
