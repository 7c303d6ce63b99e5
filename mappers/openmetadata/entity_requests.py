"""Builds the requests that create a dataset and its parents."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from mappers.canonical_json import JsonObject
from mappers.openmetadata.columns import ColumnRow, NestedColumns, nest_columns
from mappers.openmetadata.descriptions import escape_description
from mappers.openmetadata.fqn import EntityName, fqn
from mappers.openmetadata.locations import EntityLocation, ServiceRef

_SERVICES = {
    "databaseService": "services/databaseServices",
    "storageService": "services/storageServices",
    "messagingService": "services/messagingServices",
    "apiService": "services/apiServices",
    "mlmodelService": "services/mlmodelServices",
    "pipelineService": "services/pipelineServices",
}
_PARENT_KEYS = {"databases": "service", "databaseSchemas": "database", "apiCollections": "service"}
#: Types of the fields of messages, by those of columns.
_FIELD_WORDS = {
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
_FIELD_TYPES = {word: kind for kind, words in _FIELD_WORDS.items() for word in words.split()}
#: How long the names of the fields of messages may get.
_MAX_CHARACTERS_OF_FIELDS = 128
#: Formats of files that the server has a word for; orc and the formats of tables are none of them.
_FORMATS = {"parquet", "avro", "csv", "json", "tsv"}
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,4})?(/.*)?", re.DOTALL)
_LOOSE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")


class EntityRequest(NamedTuple):
    """One entity to be made or brought up to date: where, under which fully qualified name, and with what."""

    collection: str
    fqn: str
    body: JsonObject


class DatasetContent(NamedTuple):
    """What the store knows of a dataset, as far as it goes into an entity."""

    name: str
    description: str | None = None
    format: str | None = None
    columns: tuple[ColumnRow, ...] = ()
    full_path: str | None = None


class DatasetRequests(NamedTuple):
    """All requests of a dataset, parents before children, and its columns by the names that jobs give them."""

    parents: list[EntityRequest]
    own: EntityRequest
    columns: NestedColumns


def dataset_requests(place: EntityLocation, dataset: DatasetContent) -> DatasetRequests:
    """Say what is to be made so that a dataset stands where it lies."""
    columns = nest_columns(dataset.columns, *([_MAX_CHARACTERS_OF_FIELDS] if place.kind == "topic" else []))
    parents = [service_request(place.service), *_parents(place)]
    own = {
        **name_keys(place.own),
        **description_keys(dataset.description),
        **_body(place, dataset, columns, parents[-1].fqn),
    }
    return DatasetRequests(parents, EntityRequest(_COLLECTIONS[place.kind], place.fqn, own), columns)


def service_request(service: ServiceRef) -> EntityRequest:
    """Say how a service is to be made."""
    return EntityRequest(
        _SERVICES[service.kind], fqn(service.name), {"name": service.name, "serviceType": service.type}
    )


def _parents(place: EntityLocation) -> Iterable[EntityRequest]:
    """Make what lies between a service and the entity; a storage or a broker knows nothing in between."""
    between = {"table": ("databases", "databaseSchemas"), "apiEndpoint": ("apiCollections",)}.get(place.kind, ())
    above = fqn(place.service.name)
    for collection, name in zip(between, place.parents, strict=False):
        whole = f"{above}.{fqn(name.name)}"
        yield EntityRequest(collection, whole, {**name_keys(name), _PARENT_KEYS[collection]: above})
        above = whole


def _table(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:
    kind = "Regular" if place.service.type != "CustomDatabase" else "External"
    body: JsonObject = {"databaseSchema": parent, "tableType": kind, "columns": columns.columns}
    if dataset.full_path:
        body["locationPath"] = dataset.full_path
    if (dataset.format or "").lower() in _FORMATS:
        body["fileFormat"] = str(dataset.format).lower()
    return body


def _container(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:  # noqa: ARG001 - one shape
    body: JsonObject = {"service": parent, "fullPath": dataset.full_path or dataset.name}
    if columns.columns:
        body["dataModel"] = {"isPartitioned": False, "columns": columns.columns}
    return body


def _topic(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:  # noqa: ARG001 - as above
    body: JsonObject = {"service": parent, "partitions": 1}
    if columns.columns:
        body["messageSchema"] = {"schemaType": "Other", "schemaFields": [_field(one) for one in columns.columns]}
    return body


def _field(column: JsonObject) -> JsonObject:
    """Make a field of a message of a column: messages know fewer types, and no lengths."""
    kept = {key: column[key] for key in ("name", "displayName", "description", "dataTypeDisplay") if key in column}
    kind = column["dataType"]
    field = {**kept, "dataType": _FIELD_TYPES.get(kind, kind if kind in _FIELD_TYPES.values() else "UNKNOWN")}
    if column.get("children"):
        field["children"] = [_field(child) for child in column["children"]]
    return field


def _endpoint(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:  # noqa: ARG001 - as above
    return {"apiCollection": parent, "endpointURL": _address(dataset.full_path or dataset.name)}


def _address(known: str) -> str:
    """Write an address that a server takes: what names no host becomes one of the scheme `api`."""
    if not _ADDRESS.fullmatch(known):
        return f"api:{quote(known)}"
    return _LOOSE_PERCENT.sub("%25", quote(known, safe=":/?&=%"))


def _model(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:  # noqa: ARG001 - as above
    return {"service": parent, "algorithm": "unknown"}


_BODIES = {"table": _table, "container": _container, "topic": _topic, "apiEndpoint": _endpoint, "mlmodel": _model}
_COLLECTIONS: Mapping[str, str] = {
    "table": "tables",
    "container": "containers",
    "topic": "topics",
    "apiEndpoint": "apiEndpoints",
    "mlmodel": "mlmodels",
}


def _body(place: EntityLocation, dataset: DatasetContent, columns: NestedColumns, parent: str) -> JsonObject:
    return _BODIES[place.kind](place, dataset, columns, parent)


def name_keys(name: EntityName) -> JsonObject:
    """Give the keys that name an entity."""
    return {"name": name.name} | ({"displayName": name.display_name} if name.display_name else {})


def description_keys(description: str | None) -> JsonObject:
    """Give the key that describes an entity, if there is something to say."""
    return {"description": escape_description(description)} if description else {}
