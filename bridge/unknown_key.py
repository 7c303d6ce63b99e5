"""A key that nothing knows, told with the keys that may stand in its place."""

import difflib
from typing import Any

from pydantic import BaseModel

from bridge.yaml_tree import KeyPath


def tell_unknown_key(at: KeyPath, origin: object, valid: list[str]) -> str:
    """Say that a key is unknown, where it was set, and which one was meant."""
    (near,) = difflib.get_close_matches(str(at[-1]), valid, n=1, cutoff=0.0)
    key = ".".join(map(str, at))
    return f"{origin}: unknown key {key}; did you mean {near}? Valid: {', '.join(valid)}"


def keys_at(model: type[BaseModel], at: KeyPath) -> list[str]:
    """Give the keys that may stand at a place of a model."""
    found: Any = model
    for part in at:
        if isinstance(part, int):
            continue
        fields = {field.alias or name: field for name, field in found.model_fields.items()}
        found = _model_in(fields[part].annotation) if part in fields else found
    return [field.alias or name for name, field in found.model_fields.items()]


def _model_in(annotation: Any) -> Any:
    """Find the model within an annotation such as a list of it, or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in getattr(annotation, "__args__", ()))
    return next((one for one in inner if one is not None), None)
