"""The shapes of the requests that create or replace entities."""

from tests.standins.openmetadata import enums
from tests.standins.openmetadata.shapes import (
    Reader,
    Shape,
    anything,
    at_least,
    choice,
    flag,
    listing,
    mapping,
    moment,
    named,
    number,
    sized,
    text,
    uuid,
    whole,
)

REFERENCE = Shape(
    {
        "id": uuid,
        "type": text,
        "name": text,
        "fullyQualifiedName": text,
        "displayName": text,
        "description": text,
        "deleted": flag,
        "inherited": flag,
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
_ACCESS = Shape({"timestamp": whole, "accessedBy": REFERENCE, "accessedByAProcess": text}, required="timestamp")
LIFE_CYCLE = Shape(dict.fromkeys(("created", "updated", "accessed"), _ACCESS))

COLUMN = Shape({}, required="name dataType")
COLUMN.fields = {
    "name": named(2147483647),
    "displayName": text,
    "dataType": choice(*enums.COLUMN_TYPES),
    "arrayDataType": choice(*enums.COLUMN_TYPES),
    "dataLength": whole,
    "precision": whole,
    "scale": whole,
    "dataTypeDisplay": text,
    "description": text,
    "fullyQualifiedName": text,
    "tags": listing(LABEL),
    "constraint": choice(*enums.CONSTRAINTS),
    "ordinalPosition": whole,
    "jsonSchema": text,
    "children": listing(COLUMN),
    "profile": anything,
    "customMetrics": anything,
    "extension": mapping,
}
FIELD = Shape({}, required="name dataType")
FIELD.fields = {
    "name": sized(1, 2147483647),
    "displayName": text,
    "dataType": choice(*enums.FIELD_TYPES),
    "dataTypeDisplay": text,
    "description": text,
    "fullyQualifiedName": text,
    "tags": listing(LABEL),
    "children": listing(FIELD),
}
TASK = Shape(
    {
        **dict.fromkeys(
            ("displayName", "fullyQualifiedName", "description", "sourceUrl", "taskType", "taskSQL"), text
        ),
        **dict.fromkeys(("name", "startDate", "endDate"), text),
        "downstreamTasks": listing(text),
        "tags": listing(LABEL),
        "owners": listing(REFERENCE),
    },
    required="name",
)
_PARTITION = Shape({"columnName": text, "intervalType": choice(*enums.PARTITION_INTERVALS), "interval": text})
_TABLE_CONSTRAINT = Shape(
    {
        "constraintType": choice(*enums.TABLE_CONSTRAINTS),
        "columns": listing(text),
        "referredColumns": listing(text),
        "relationshipType": text,
    }
)
_MESSAGE_FIELDS: dict[str, Reader] = {"schemaType": choice(*enums.SCHEMA_TYPES), "schemaFields": listing(FIELD)}
_COMMON: dict[str, Reader] = {
    "name": named(256),
    "displayName": text,
    "description": text,
    "tags": listing(LABEL),
    "owners": listing(REFERENCE),
    "domains": listing(text),
    "dataProducts": listing(text),
}
_ASSET: dict[str, Reader] = {
    **_COMMON,
    "extension": mapping,
    "sourceUrl": text,
    "lifeCycle": LIFE_CYCLE,
    "sourceHash": sized(1, 32),
    "service": sized(1, 3072),
}


def service(types: tuple[str, ...] | list[str]) -> Shape:
    connection = Shape({"config": mapping})
    more: dict[str, Reader] = {"serviceType": choice(*types), "connection": connection, "ingestionRunner": REFERENCE}
    return Shape({**_COMMON, **more}, required="name serviceType")


def _below(parent: str, more: dict[str, Reader]) -> dict[str, Reader]:
    fields = {**_ASSET, parent: sized(1, 3072), **more}
    if parent != "service":
        del fields["service"]
    return fields


DATABASE = Shape(_below("service", {"default": flag, "retentionPeriod": text}), required="name service")
SCHEMA = Shape(_below("database", {"retentionPeriod": text}), required="name database")
TABLE = Shape(
    _below(
        "databaseSchema",
        {
            "tableType": choice(*enums.TABLE_TYPES),
            "columns": listing(COLUMN),
            "dataModel": anything,
            "locationPath": text,
            "tableConstraints": listing(_TABLE_CONSTRAINT),
            "tablePartition": Shape({"columns": listing(_PARTITION)}),
            "tableProfilerConfig": mapping,
            "schemaDefinition": text,
            "processedLineage": flag,
            "retentionPeriod": text,
            "fileFormat": choice(*enums.TABLE_FILE_FORMATS),
        },
    ),
    required="name databaseSchema",
)
_DATA_MODEL = Shape({"isPartitioned": flag, "columns": listing(COLUMN), "generatedAt": moment}, required="columns")
CONTAINER = Shape(
    _below(
        "service",
        {
            "parent": REFERENCE,
            "dataModel": _DATA_MODEL,
            "prefix": text,
            "numberOfObjects": number,
            "size": number,
            "fileFormats": listing(choice(*enums.CONTAINER_FORMATS)),
            "fullPath": text,
        },
    ),
    required="name service",
)
TOPIC = Shape(
    _below(
        "service",
        {
            "messageSchema": Shape({**_MESSAGE_FIELDS, "schemaText": text}),
            "partitions": at_least(1),
            "cleanupPolicies": listing(choice(*enums.CLEANUP_POLICIES)),
            **dict.fromkeys(("replicationFactor", "maximumMessageSize", "minimumInSyncReplicas"), whole),
            **dict.fromkeys(("retentionTime", "retentionSize"), number),
            "topicConfig": mapping,
        },
    ),
    required="name service partitions",
)
PIPELINE = Shape(
    _below(
        "service",
        {
            "concurrency": whole,
            "pipelineLocation": text,
            "startDate": moment,
            "tasks": listing(TASK),
            "scheduleInterval": text,
            "state": choice(*enums.PIPELINE_STATES),
        },
    ),
    required="name service",
)
API_COLLECTION = Shape(
    _below("service", {"endpointURL": text, "apiEndpoints": listing(text)}), required="name service"
)
API_ENDPOINT = Shape(
    _below(
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
        "tags": listing(LABEL),
    }
)
_FEATURE = Shape(
    {
        **dict.fromkeys(("name", "description", "fullyQualifiedName", "featureAlgorithm"), text),
        "dataType": choice(*enums.FEATURE_TYPES),
        "featureSources": listing(_FEATURE_SOURCE),
        "tags": listing(LABEL),
    }
)
ML_MODEL = Shape(
    _below(
        "service",
        {
            **dict.fromkeys(("algorithm", "target", "dashboard", "server"), text),
            "mlFeatures": listing(_FEATURE),
            "mlHyperParameters": listing(Shape(dict.fromkeys(("name", "value", "description"), text))),
            "mlStore": Shape(dict.fromkeys(("storage", "imageRepository"), text)),
        },
    ),
    required="name service algorithm",
)
