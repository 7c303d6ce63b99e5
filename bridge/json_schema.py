"""The JSON Schema of a YAML file, by which editors complete and check it."""

import json

from pydantic import BaseModel


def schema_of(model: type[BaseModel], title: str) -> str:
    """Write the schema."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True),
        "title": title,
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
