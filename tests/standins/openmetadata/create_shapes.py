"""Shapes of requests that create or replace entities."""

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.shapes import (
    Reader,
    Shape,
    anything,
    at_least,
    boolean,
    bounded_text,
    choice,
    date_time,
    entity_name,
    int32,
    integer,
    list_of,
    mapping,
    number,
    text,
    uuid,
)

REFERENCE = Shape(
    {
        "id": uuid,
        "type": text,
        "name": text,
        "fullyQualifiedName": text,
        "displayName": text,
        "description": text,
        "deleted": boolean,
        "inherited": boolean,
        "href": text,
    },
    required="id type",
)
LABEL = Shape(
    {
        "tagFQN": text,
        "name": text,
        "displayName": text,
        "description": text,
        "style": anything,
        "source": choice(*enums.LABEL_SOURCES),
        "labelType": choice(*enums.LABEL_TYPES),
        "state": choice(*enums.LABEL_STATES),
        "href": text,
        "reason": text,
        "appliedAt": text,
        "appliedBy": text,
        "metadata": anything,
    },
    required="tagFQN",
)
_ACCESS = Shape({"timestamp": integer, "accessedBy": REFERENCE, "accessedByAProcess": text}, required="timestamp")
LIFE_CYCLE = Shape(dict.fromkeys(("created", "updated", "accessed"), _ACCESS))

COLUMN = Shape({}, required="name dataType")
COLUMN.fields = {
    "name": entity_name(2147483647),
    "displayName": text,
    "dataType": choice(*enums.COLUMN_TYPES),
    "arrayDataType": choice(*enums.COLUMN_TYPES),
    "dataLength": int32,
    "precision": int32,
    "scale": int32,
    "dataTypeDisplay": text,
    "description": text,
    "fullyQualifiedName": text,
    "tags": list_of(LABEL),
    "constraint": choice(*enums.CONSTRAINTS),
    "ordinalPosition": integer,
    "jsonSchema": text,
    "children": list_of(COLUMN),
    "profile": anything,
    "customMetrics": anything,
    "extension": mapping,
}
FIELD = Shape({}, required="name dataType")
FIELD.fields = {
    "name": bounded_text(1, 2147483647),
    "displayName": text,
    "dataType": choice(*enums.FIELD_TYPES),
    "dataTypeDisplay": text,
    "description": text,
    "fullyQualifiedName": text,
    "tags": list_of(LABEL),
    "children": list_of(FIELD),
}
TASK = Shape(
    {
        **dict.fromkeys(
            ("displayName", "fullyQualifiedName", "description", "sourceUrl", "taskType", "taskSQL"), text
        ),
        **dict.fromkeys(("name", "startDate", "endDate"), text),
        "downstreamTasks": list_of(text),
        "tags": list_of(LABEL),
        "owners": list_of(REFERENCE),
    },
    required="name",
)
_PARTITION = Shape({"columnName": text, "intervalType": choice(*enums.PARTITION_INTERVALS), "interval": text})
_TABLE_CONSTRAINT = Shape(
    {
        "constraintType": choice(*enums.TABLE_CONSTRAINTS),
        "columns": list_of(text),
        "referredColumns": list_of(text),
        "relationshipType": text,
    }
)
_MESSAGE_FIELDS: dict[str, Reader] = {"schemaType": choice(*enums.SCHEMA_TYPES), "schemaFields": list_of(FIELD)}
_COMMON: dict[str, Reader] = {
    "name": entity_name(256),
    "displayName": text,
    "description": text,
    "tags": list_of(LABEL),
    "owners": list_of(REFERENCE),
    "domains": list_of(text),
    "dataProducts": list_of(text),
}
_ASSET: dict[str, Reader] = {
    **_COMMON,
    "extension": mapping,
    "sourceUrl": text,
    "lifeCycle": LIFE_CYCLE,
    "sourceHash": bounded_text(1, 32),
    "service": bounded_text(1, 3072),
}


def service(types: tuple[str, ...] | list[str]) -> Shape:
    connection = Shape({"config": mapping})
    fields: dict[str, Reader] = {
        "serviceType": choice(*types),
        "connection": connection,
        "ingestionRunner": REFERENCE,
    }
    return Shape({**_COMMON, **fields}, required="name serviceType")


def _child_fields(parent: str, own_fields: dict[str, Reader]) -> dict[str, Reader]:
    fields = {**_ASSET, parent: bounded_text(1, 3072), **own_fields}
    if parent != "service":
        del fields["service"]
    return fields


DATABASE = Shape(_child_fields("service", {"default": boolean, "retentionPeriod": text}), required="name service")
SCHEMA = Shape(_child_fields("database", {"retentionPeriod": text}), required="name database")
TABLE = Shape(
    _child_fields(
        "databaseSchema",
        {
            "tableType": choice(*enums.TABLE_TYPES),
            "columns": list_of(COLUMN),
            "dataModel": anything,
            "locationPath": text,
            "tableConstraints": list_of(_TABLE_CONSTRAINT),
            "tablePartition": Shape({"columns": list_of(_PARTITION)}),
            "tableProfilerConfig": mapping,
            "schemaDefinition": text,
            "processedLineage": boolean,
            "retentionPeriod": text,
            "fileFormat": choice(*enums.TABLE_FILE_FORMATS),
        },
    ),
    required="name databaseSchema",
)
_DATA_MODEL = Shape(
    {"isPartitioned": boolean, "columns": list_of(COLUMN), "generatedAt": date_time}, required="columns"
)
CONTAINER = Shape(
    _child_fields(
        "service",
        {
            "parent": REFERENCE,
            "dataModel": _DATA_MODEL,
            "prefix": text,
            "numberOfObjects": number,
            "size": number,
            "fileFormats": list_of(choice(*enums.CONTAINER_FORMATS)),
            "fullPath": text,
        },
    ),
    required="name service",
)
TOPIC = Shape(
    _child_fields(
        "service",
        {
            "messageSchema": Shape({**_MESSAGE_FIELDS, "schemaText": text}),
            "partitions": at_least(1),
            "cleanupPolicies": list_of(choice(*enums.CLEANUP_POLICIES)),
            **dict.fromkeys(("replicationFactor", "maximumMessageSize", "minimumInSyncReplicas"), integer),
            **dict.fromkeys(("retentionTime", "retentionSize"), number),
            "topicConfig": mapping,
        },
    ),
    required="name service partitions",
)
PIPELINE = Shape(
    _child_fields(
        "service",
        {
            "concurrency": integer,
            "pipelineLocation": text,
            "startDate": date_time,
            "tasks": list_of(TASK),
            "scheduleInterval": text,
            "state": choice(*enums.PIPELINE_STATES),
        },
    ),
    required="name service",
)
API_COLLECTION = Shape(
    _child_fields("service", {"endpointURL": text, "apiEndpoints": list_of(text)}), required="name service"
)
API_ENDPOINT = Shape(
    _child_fields(
        "apiCollection",
        {
            "endpointURL": text,
            "requestMethod": choice(*enums.METHODS),
            **dict.fromkeys(("requestSchema", "responseSchema"), Shape(_MESSAGE_FIELDS)),
        },
    ),
    required="name apiCollection endpointURL",
)
_FEATURE_SOURCE = Shape(
    {
        **dict.fromkeys(("name", "description", "fullyQualifiedName"), text),
        "dataType": choice(*enums.FEATURE_SOURCES),
        "dataSource": REFERENCE,
        "tags": list_of(LABEL),
    }
)
_FEATURE = Shape(
    {
        **dict.fromkeys(("name", "description", "fullyQualifiedName", "featureAlgorithm"), text),
        "dataType": choice(*enums.FEATURE_TYPES),
        "featureSources": list_of(_FEATURE_SOURCE),
        "tags": list_of(LABEL),
    }
)
ML_MODEL = Shape(
    _child_fields(
        "service",
        {
            **dict.fromkeys(("algorithm", "target", "dashboard", "server"), text),
            "mlFeatures": list_of(_FEATURE),
            "mlHyperParameters": list_of(Shape(dict.fromkeys(("name", "value", "description"), text))),
            "mlStore": Shape(dict.fromkeys(("storage", "imageRepository"), text)),
        },
    ),
    required="name service algorithm",
)
