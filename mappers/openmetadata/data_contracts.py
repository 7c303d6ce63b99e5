"""Builds data contracts from the contract, SLA and governance facets of a dataset."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from mappers.canonical.columns import SchemaColumn
from mappers.canonical_json import JsonObject
from mappers.openmetadata.columns import nest_columns
from mappers.openmetadata.descriptions import escape_description

COLLECTION = "dataContracts"
#: Name of the contracts that lineage-bridge writes.
CONTRACT_NAME = "lineage-bridge"
_DURATION = re.compile(r"(\d+)([smhd])")
_UNITS = {"m": "minute", "h": "hour", "d": "day"}
_SECONDS_PER_MINUTE = 60


def data_contract(
    entity_type: str,
    entity_id: str,
    contract: Mapping[str, Any],
    sla: Mapping[str, Any],
    retention_days: int | None,
    existing_columns: Collection[str],
) -> JsonObject:
    """Build the contract of an entity. The server accepts only columns that the entity has."""
    version = contract.get("version")
    description = f"Contract of the asset file{f', version {version}' if version else ''}"
    body: JsonObject = {
        "name": CONTRACT_NAME,
        "displayName": "Contract of the asset file",
        "description": escape_description(description),
        "entity": {"id": entity_id, "type": entity_type},
        "entityStatus": "Approved",
    }
    promised = [column for column in contract.get("columns") or () if column["name"] in existing_columns]
    if promised:
        columns = [SchemaColumn(column["name"], column.get("type")) for column in promised]
        body["schema"] = nest_columns(columns).columns
    if members := _sla_members(sla, retention_days):
        body["sla"] = members
    return body


def _sla_members(sla: Mapping[str, Any], retention_days: int | None) -> JsonObject:
    members: JsonObject = {}
    if due := sla.get("expected_by"):
        members["availabilityTime"] = f"{due} {sla.get('timezone') or 'UTC'}"
    if latency := _max_latency(str(sla.get("freshness") or "")):
        members["maxLatency"] = latency
    if retention_days is not None:
        members["retention"] = {"period": retention_days, "unit": "day"}
    return members


def _max_latency(duration: str) -> JsonObject | None:
    """Convert a duration such as `90m`; seconds are rounded up to minutes."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        return None
    value, unit = int(match[1]), match[2]
    if unit == "s":
        value, unit = -(-value // _SECONDS_PER_MINUTE), "m"
    return {"value": value, "unit": _UNITS[unit]}
