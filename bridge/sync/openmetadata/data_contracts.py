"""Pushes data contracts of assets."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bridge.store.governance_facets import CONTRACT, GOVERNANCE, SLA, read_facets
from bridge.sync.canonical.datasets import read_datasets
from bridge.sync.openmetadata.context import OpenMetadataContext, parents_to_verify
from bridge.sync.sync_item import (
    EXCLUDED,
    Completed,
    Failure,
    Outcome,
    RemoteReference,
    SyncItem,
    failed,
    fingerprint,
    pushed,
)
from bridge.sync.target import BatchResult
from mappers.canonical_json import JsonObject
from mappers.governance.facet import validate_contract
from mappers.openmetadata.data_contracts import COLLECTION, data_contract


class _DesiredContract(NamedTuple):
    """The data contract that an entity should have."""

    item: SyncItem
    entity: RemoteReference
    request: JsonObject
    fingerprint: bytes
    note: str | None


class _WithdrawnContract(NamedTuple):
    """A data contract to delete, because the asset file no longer has a schema."""

    item: SyncItem
    remote: RemoteReference
    request: None = None
    fingerprint: bytes = b""


class DataContractPusher:
    """Pushes data contracts; contracts that people wrote are left alone. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def push(self, items: Sequence[SyncItem]) -> BatchResult:
        if not self._ctx.client.features().data_contracts:
            reason = "OpenMetadata has data contracts since version 2.0"
            return BatchResult([item.complete(Outcome.OFF, reason) for item in items])
        planned = self._plan(items)
        withdrawn = [contract for contract in planned if isinstance(contract, _WithdrawnContract)]
        results = self._ctx.requests.map(self._delete, withdrawn, failed)
        results += self._ctx.push_each(
            [contract for contract in planned if not isinstance(contract, _WithdrawnContract)], self._put
        )
        keys = {item.key: item.key for item in items}
        return BatchResult(results, to_verify=parents_to_verify("dataset", results, keys))

    def _plan(self, items: Sequence[SyncItem]) -> list[_DesiredContract | _WithdrawnContract | Completed]:
        keys = [item.key for item in items]
        db, org = self._ctx.db, self._ctx.org
        facets = {name: read_facets(db, org, keys, name) for name in (CONTRACT, SLA, GOVERNANCE)}
        datasets = read_datasets(db, org, keys)
        entities = self._ctx.items.get("dataset", keys)
        planned: list[_DesiredContract | _WithdrawnContract | Completed] = []
        for item in items:
            entity = entities.get(item.key)
            dataset = datasets.get(item.key)
            columns = {column.name for column in dataset.columns} if dataset else set()
            facets_of_dataset = {name: bodies.get(item.key, {}) for name, bodies in facets.items()}
            planned.append(_plan_item(item, entity, facets_of_dataset, columns))
        return planned

    def _delete(self, contract: _WithdrawnContract) -> Completed | Failure:
        self._ctx.client.delete(COLLECTION, contract.remote.id)
        return _without_contract(contract.item)

    def _put(self, desired: _DesiredContract) -> Completed | Failure:
        existing = self._ctx.client.entity_contract(desired.entity.type, desired.entity.id)
        own_name = desired.request["name"]
        if existing is not None and existing.get("name") != own_name:
            reason = f"{desired.entity.name} has a data contract of its own: {existing.get('name')}"
            return desired.item.complete(Outcome.UNRESOLVED, reason, fingerprint=desired.fingerprint)
        contract = self._ctx.client.put(COLLECTION, desired.request).entity
        remote = RemoteReference("dataContract", str(contract["id"]), desired.entity.name)
        return pushed(desired, remote, desired.note)


def _plan_item(
    item: SyncItem, dataset: SyncItem | None, facets: Mapping[str, Mapping[str, Any]], columns: set[str]
) -> _DesiredContract | _WithdrawnContract | Completed:
    contract, governance = validate_contract(facets[CONTRACT]), facets[GOVERNANCE]
    if contract is None:
        return _without_contract(item) if item.remote is None else _WithdrawnContract(item, item.remote)
    if governance.get("syncEnabled") is False:
        return item.complete(Outcome.OFF, "openmetadata.sync_enabled is off for its asset")
    if dataset is not None and dataset.outcome in EXCLUDED:
        return item.complete(Outcome.UNWANTED, "its dataset was dropped or is not synced")
    entity = dataset.remote if dataset else None
    if entity is None:
        return item.complete(Outcome.WAITING, "its dataset is not in OpenMetadata yet")
    retention_days = governance.get("retentionDays")
    body = data_contract(entity.type, entity.id, contract, facets[SLA], retention_days, columns)
    missing = sorted({column["name"] for column in contract["columns"]} - columns)
    note = f"the dataset lacks columns of its contract: {', '.join(missing)}" if missing else None
    content_fingerprint = fingerprint(body)
    return item.complete_if_unchanged(content_fingerprint) or _DesiredContract(
        item, entity, body, content_fingerprint, note
    )


def _without_contract(item: SyncItem) -> Completed:
    return item.complete(Outcome.UNWANTED, "no asset file has a schema for it", remote=None, fingerprint=None)
