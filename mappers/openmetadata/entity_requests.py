"""Builds the requests that create a dataset and its parents.

The bodies contain only members that lineage-bridge owns: owners, tags and everything else that users edit are
omitted.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from mappers.canonical.columns import SchemaColumn
from mappers.canonical_json import JsonObject
from mappers.openmetadata.columns import MAX_COLUMN_NAME_CHARACTERS, NestedColumns, nest_columns
from mappers.openmetadata.descriptions import escape_description
from mappers.openmetadata.fqn import EntityName, fqn
from mappers.openmetadata.locations import EntityLocation, ServiceRef

_SERVICE_COLLECTIONS = {
    "databaseService": "services/databaseServices",
    "storageService": "services/storageServices",
    "messagingService": "services/messagingServices",
    "apiService": "services/apiServices",
    "mlmodelService": "services/mlmodelServices",
    "pipelineService": "services/pipelineServices",
}
#: Path of the page of a dataset.
DATASET_PAGE = "/dataset"
_PARENT_KEYS = {"databases": "service", "databaseSchemas": "database", "apiCollections": "service"}
#: Column types by the type of message field that represents them.
_COLUMN_TYPES = {
    "RECORD": "STRUCT",
    "LONG": "BIGINT",
    "INT": "SMALLINT TINYINT INT",
    "STRING": "VARCHAR CHAR TEXT STRING",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "BYTES": "BYTES BINARY DECIMAL NUMERIC",
    "ARRAY": "ARRAY",
    "MAP": "MAP",
    "ENUM": "ENUM",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "TIMESTAMP",
    "TIMESTAMPZ": "TIMESTAMPZ",
    "NULL": "NULL",
}
_FIELD_TYPES = {
    column_type: field_type
    for field_type, column_types in _COLUMN_TYPES.items()
    for column_type in column_types.split()
}
#: Maximum length of the names of message fields.
_MAX_FIELD_NAME_CHARACTERS = 128
#: File formats that the server supports; it does not support orc or table formats.
_FILE_FORMATS = {"parquet", "avro", "csv", "json", "tsv"}
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,4})?(/.*)?", re.DOTALL)
_UNESCAPED_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


class EntityRequest(NamedTuple):
    """A request that creates or updates an entity, by collection and fully qualified name."""

    collection: str
    fqn: str
    body: JsonObject


class DatasetContent(NamedTuple):
    """The content of a dataset that is sent to OpenMetadata."""

    name: str
    description: str | None = None
    format: str | None = None
    columns: tuple[SchemaColumn, ...] = ()
    full_path: str | None = None
    #: URL of the page of the dataset in lineage-bridge.
    page: str | None = None


class DatasetRequests(NamedTuple):
    """All requests for a dataset, parents before children, and its columns by their original names."""

    parents: list[EntityRequest]
    entity: EntityRequest
    columns: NestedColumns


def dataset_requests(location: EntityLocation, dataset: DatasetContent) -> DatasetRequests:
    """Build the requests that create a dataset at its location."""
    is_topic = location.kind == "topic"
    max_characters = _MAX_FIELD_NAME_CHARACTERS if is_topic else MAX_COLUMN_NAME_CHARACTERS
    columns = nest_columns(dataset.columns, max_characters)
    parents = [service_request(location.service), *_parent_requests(location)]
    body = {
        **name_keys(location.name),
        **description_keys(dataset.description),
        **_BODY_BUILDERS[location.kind](location, dataset, columns, parents[-1].fqn),
    }
    if dataset.page:
        body["sourceUrl"] = dataset.page
    return DatasetRequests(parents, EntityRequest(_COLLECTIONS[location.kind], location.fqn, body), columns)


def dataset_page(public_url: str, namespace: str, name: str) -> str:
    """Return the URL of the page of a dataset in lineage-bridge."""
    return f"{public_url.rstrip('/')}{DATASET_PAGE}?{urlencode({'namespace': namespace, 'name': name})}"


def service_request(service: ServiceRef) -> EntityRequest:
    return EntityRequest(
        _SERVICE_COLLECTIONS[service.kind], fqn(service.name), {"name": service.name, "serviceType": service.type}
    )


def _parent_requests(location: EntityLocation) -> Iterable[EntityRequest]:
    """Build requests for the entities between the service and the dataset; some services have no such entities."""
    collections = {"table": ("databases", "databaseSchemas"), "apiEndpoint": ("apiCollections",)}.get(
        location.kind, ()
    )
    parent_fqn = fqn(location.service.name)
    for collection, name in zip(collections, location.parents, strict=False):
        entity_fqn = f"{parent_fqn}.{fqn(name.name)}"
        yield EntityRequest(collection, entity_fqn, {**name_keys(name), _PARENT_KEYS[collection]: parent_fqn})
        parent_fqn = entity_fqn


def _table_body(location: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:
    table_type = "External" if location.service.type == "CustomDatabase" else "Regular"
    body: JsonObject = {"databaseSchema": parent, "tableType": table_type, "columns": columns.columns}
    if dataset.full_path:
        body["locationPath"] = dataset.full_path
    if (dataset.format or "").lower() in _FILE_FORMATS:
        body["fileFormat"] = str(dataset.format).lower()
    return body


def _container_body(
    location: EntityLocation,  # noqa: ARG001 - common signature
    dataset: DatasetContent,
    columns: NestedColumns,
    parent: str,
) -> JsonObject:
    body: JsonObject = {"service": parent, "fullPath": dataset.full_path or dataset.name}
    if columns.columns:
        body["dataModel"] = {"isPartitioned": False, "columns": columns.columns}
    return body


def _topic_body(
    location: EntityLocation,  # noqa: ARG001 - as above
    dataset: DatasetContent,  # noqa: ARG001 - as above
    columns: NestedColumns,
    parent: str,
) -> JsonObject:
    body: JsonObject = {"service": parent, "partitions": 1}
    if columns.columns:
        body["messageSchema"] = {
            "schemaType": "Other",
            "schemaFields": [_message_field(column) for column in columns.columns],
        }
    return body


def _message_field(column: JsonObject) -> JsonObject:
    """Convert a column to a message field, which has fewer types and no length."""
    members = {key: column[key] for key in ("name", "displayName", "description", "dataTypeDisplay") if key in column}
    data_type = column["dataType"]
    is_field_type = data_type in _FIELD_TYPES.values()
    field_type = data_type if is_field_type else _FIELD_TYPES.get(data_type, "UNKNOWN")
    field = {**members, "dataType": field_type}
    if column.get("children"):
        field["children"] = [_message_field(child) for child in column["children"]]
    return field


def _endpoint_body(
    location: EntityLocation,  # noqa: ARG001 - as above
    dataset: DatasetContent,
    columns: NestedColumns,  # noqa: ARG001 - as above
    parent: str,
) -> JsonObject:
    return {"apiCollection": parent, "endpointURL": _endpoint_url(dataset.full_path or dataset.name)}


def _endpoint_url(address: str) -> str:
    """Build a valid URL; an address without a host gets the scheme `api`."""
    if not _URL.fullmatch(address):
        return f"api:{quote(address)}"
    return _UNESCAPED_PERCENT.sub("%25", quote(address, safe=":/?&=%"))


def _model_body(
    location: EntityLocation,  # noqa: ARG001 - as above
    dataset: DatasetContent,  # noqa: ARG001 - as above
    columns: NestedColumns,  # noqa: ARG001 - as above
    parent: str,
) -> JsonObject:
    return {"service": parent, "algorithm": "unknown"}


_BODY_BUILDERS = {
    "table": _table_body,
    "container": _container_body,
    "topic": _topic_body,
    "apiEndpoint": _endpoint_body,
    "mlmodel": _model_body,
}
_COLLECTIONS: Mapping[str, str] = {
    "table": "tables",
    "container": "containers",
    "topic": "topics",
    "apiEndpoint": "apiEndpoints",
    "mlmodel": "mlmodels",
}


def name_keys(name: EntityName) -> JsonObject:
    if name.display_name:
        return {"name": name.name, "displayName": name.display_name}
    return {"name": name.name}


def description_keys(description: str | None) -> JsonObject:
    return {"description": escape_description(description)} if description else {}
