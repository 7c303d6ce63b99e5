"""Public names of the schemas in the OpenAPI document; they stay the same even if classes are renamed."""

import re
from typing import Any

#: Class name -> name in the document. Classes that are not listed keep their own name.
PUBLIC_SCHEMA_NAMES = {
    "AffectedNode": "Reached",
    "ColumnDerivation": "Line",
    "ColumnHopResult": "HopAnswer",
    "ColumnLineageResult": "ColumnLineageAnswer",
    "ColumnReference": "ColumnOf",
    "ComparedKindResult": "ComparedKind",
    "ComparisonResult": "Comparison",
    "DagResult": "DagAnswer",
    "DatasetResult": "DatasetAnswer",
    "DatasetUsageResult": "Touched",
    "DefinitionVersion": "DefinedVersion",
    "DiscardCommand": "Discard",
    "DiscardResult": "Discarded",
    "EdgeResult": "EdgeAnswer",
    "EventsResult": "EventsAnswer",
    "GovernanceResult": "GovernanceAnswer",
    "ImpactResult": "ImpactAnswer",
    "InvalidateCommand": "Invalidate",
    "JobResult": "ProcessAnswer",
    "LastSuccessResult": "Success",
    "LineageResult": "LineageAnswer",
    "MetadataResult": "Remembered",
    "NodeReference": "Thing",
    "PartitionResult": "Served",
    "PatchMetadataCommand": "Describe",
    "PinCommand": "PinVersions",
    "PinItem": "ToPin",
    "PinResult": "PinsMade",
    "PublicationResult": "PublicationMade",
    "PublishCommand": "Publish",
    "PublishItem": "ToPublish",
    "PublishedDataset": "MovedDataset",
    "QualityChecksResult": "QualityAnswer",
    "RegisterDefinitionCommand": "Register",
    "RemoteEntityResult": "Entity",
    "ResolveCommand": "ResolveAll",
    "ResolveItem": "ToResolve",
    "ResolveResult": "AllResolved",
    "RollBackCommand": "RollBack",
    "RollBackItem": "ToRollBack",
    "RunDetailsResult": "RunAnswer",
    "SearchHit": "Hit",
    "SearchResult": "SearchAnswer",
    "SyncEdgeResult": "SyncEdge",
    "SyncItemResult": "SyncItem",
    "UnproducedDataset": "Missing",
    "VersionResult": "Version",
    "VersionValidity": "Judgement",
}
_WORD = re.compile(r"[A-Za-z]+")


def public_name(name: str) -> str:
    """Translate a class name. The parameter of a generic class (`Page_VersionResult_`) is translated too."""
    return _WORD.sub(lambda match: PUBLIC_SCHEMA_NAMES.get(match[0], match[0]), name)


def with_public_names(schema: Any) -> Any:
    """Translate the class names in references and titles of a JSON Schema."""
    if isinstance(schema, list):
        return [with_public_names(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    translated_schema = {}
    for key, value in schema.items():
        is_class_name = key in ("$ref", "title") and isinstance(value, str)
        translated_schema[key] = public_name(value) if is_class_name else with_public_names(value)
    return translated_schema
