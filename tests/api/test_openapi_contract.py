"""Paths and schemas of `/openapi.json` are a public contract; descriptions, summaries and examples may change."""

import json
from pathlib import Path
from typing import Any

from tests.api.service import RunningService, settings_for

#: A change of this file is a change of the public API: fields and routes may be added, not renamed or removed.
FROZEN = Path(__file__).parents[1] / "data" / "openapi.json"
_TEXTS = frozenset({"description", "summary", "example", "examples"})
#: Keys of these objects are names of fields, schemas and paths, and may be "description".
_NAME_MAPPINGS = frozenset({"properties", "schemas", "paths"})


def without_texts(value: Any, *, keys_are_names: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            key: without_texts(content, keys_are_names=key in _NAME_MAPPINGS)
            for key, content in value.items()
            if keys_are_names or key not in _TEXTS
        }
    return [without_texts(content) for content in value] if isinstance(value, list) else value


def test_openapi_paths_and_schemas_are_unchanged(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path)) as running:
        document = without_texts(running.get("/openapi.json").json())
    del document["info"]["version"]
    assert document == json.loads(FROZEN.read_bytes())
