"""The JSON Schema of an asset file, by which editors complete and check it."""

import json

from bridge.governance.asset import AssetFile


def asset_schema() -> str:
    """Write the schema."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An asset file of lineage-bridge",
        **{key: value for key, value in AssetFile.model_json_schema(by_alias=True).items() if key != "title"},
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
