"""Holds what arrives against the contracts of assets: how each version does is a result of a check like any other.

A version is looked at once its run is complete. The result is told by an event of the time of the version, so that it
is the same whoever finds it, and however often. A new contract is held against the newest version at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import structlog

from bridge.intake.event_reader import EventReader
from bridge.store.database import Database
from bridge.store.event_log import IncomingEvent
from bridge.store.governance_facets import CONTRACT
from bridge.store.identity_groups import GroupMember, group_members
from bridge.store.writer import Writer
from mappers.canonical.identity import NO_ID
from mappers.canonical.rank import order_micros
from mappers.governance.contract import contract_violations
from mappers.governance.facet import validate_contract
from mappers.openlineage.event_builder import build_event, custom_facet
from mappers.openlineage.quality import assertion_id
from mappers.timestamps import format_timestamp

_log = structlog.get_logger()

CHECK = "contract"
#: How long a version may come later than one that was looked at before it, and is still looked at.
_LATE_ARRIVAL_MICROS = 7 * 86_400 * 1_000_000
#: The name stands in the text: so it is found by the index of these facets alone.
_CONTRACTS = f"""
SELECT m.class_id, f.facet_order, f.body FROM facet f
JOIN ol_dataset m ON m.org_id = f.org_id AND m.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.about_id = ?2 AND f.name = '{CONTRACT}' AND f.body IS NOT NULL
"""
_LOOKED_AT = """
SELECT qdef_id, max(executed_at) FROM quality_check_result WHERE org_id = ?1 AND qdef_id {ids} GROUP BY qdef_id
"""
#: Of datasets since times of their own, the newest first.
_VERSIONS = """
SELECT n.dataset_id, n.produced_at, n.run_uuid, n.columns_json FROM (
  SELECT v.dataset_id, v.produced_at, r.run_uuid, s.columns_json, row_number() OVER (
    PARTITION BY v.dataset_id ORDER BY v.produced_at DESC, r.run_uuid) AS place
  FROM {keys} g
  JOIN dataset_version v ON v.org_id = ?1 AND v.dataset_id = g.a AND v.produced_at >= g.b
  JOIN ol_run r ON r.org_id = v.org_id AND r.run_id = v.writer_id AND r.event_type = 'COMPLETE'
  JOIN dataset_schema s ON s.org_id = v.org_id AND s.dataset_id = v.dataset_id AND s.schema_hash = v.schema_hash
) n WHERE n.place <= ?2 ORDER BY n.dataset_id, n.place
"""
_TOLD = """
SELECT r.qdef_id, r.executed_at FROM {keys} g
JOIN quality_check_result r ON r.org_id = ?1 AND r.qdef_id = g.a AND r.executed_at >= g.b
"""
_MAX_VERSIONS = 1_000
#: So many contracts are looked at together: what their versions say is held in memory.
_BATCH_SIZE = 500


class ActiveContract(NamedTuple):
    """What is promised of a dataset, and since when."""

    declared_at: int
    version: str
    columns: list[dict[str, Any]]


class ContractCheck(NamedTuple):
    """How a version did: what it was held against, and what of that it breaks."""

    namespace: str
    name: str
    at: int
    run: str
    contract: ActiveContract
    broken: list[str]


class ContractChecker:
    """Looks for versions that no contract was held against yet. Not for several threads at once."""

    def __init__(self, db: Database, org: str, reader: EventReader, writer: Writer) -> None:
        self._db = db
        self._org = org
        self._reader = reader
        self._writer = writer

    def check_new_versions(self) -> list[ContractCheck]:
        """Hold contracts against what is new, and tell how it did; gives what was looked at."""
        found = list(self._pending_checks())
        events = [self._result_event(one) for one in found]
        if events:
            self._writer.write(events)
        for one in found:
            if one.broken:
                _log.warning(
                    "contract broken",
                    dataset=f"{one.namespace} {one.name}",
                    run=one.run,
                    broken="; ".join(one.broken),
                )
        return found

    def _pending_checks(self) -> Iterator[ContractCheck]:
        contracts = self._contracts()
        members = group_members(self._db, self._org, contracts)
        for first in range(0, len(members), _BATCH_SIZE):
            yield from self._check_batch(contracts, members[first : first + _BATCH_SIZE])

    def _check_batch(
        self, contracts: dict[bytes, ActiveContract], members: Sequence[GroupMember]
    ) -> Iterator[ContractCheck]:
        checks = {dataset: assertion_id(dataset, CHECK, CHECK, None) for _, dataset, *_ in members}
        last = dict(self._db.fetch_for_ids(_LOOKED_AT, sorted(checks.values()), self._org))
        since = {dataset: last[check] - _LATE_ARRIVAL_MICROS for dataset, check in checks.items() if check in last}
        told: dict[bytes, set[int]] = {}
        for check, at in self._db.fetch_for_keys(_TOLD, [(checks[one], at) for one, at in since.items()], self._org):
            told.setdefault(check, set()).add(at)
        versions = self._versions(since, _MAX_VERSIONS)
        versions |= self._versions(dict.fromkeys(checks.keys() - since.keys(), 0), 1)
        for class_id, dataset, namespace, name in members:
            contract, of = contracts[class_id], versions.get(dataset, [])
            for at, run, columns in _unchecked_versions(of, contract, told.get(checks[dataset], set())):
                broken = contract_violations(contract.columns, msgspec.json.decode(columns))
                yield ContractCheck(namespace, name, at, run, contract, broken)

    def _contracts(self) -> dict[bytes, ActiveContract]:
        found: dict[bytes, ActiveContract] = {}
        for class_id, order, body in sorted(self._db.fetch_all(_CONTRACTS, self._org, NO_ID), key=lambda row: row[1]):
            if said := validate_contract(msgspec.json.decode(body)):
                found[class_id] = ActiveContract(order_micros(order), said.get("version", ""), said["columns"])
        return found

    def _versions(self, since: Mapping[bytes, int], most: int) -> dict[bytes, list[tuple[int, str, str]]]:
        """Give the versions of datasets since some time, the newest first, each with its run and its columns."""
        found: dict[bytes, list[tuple[int, str, str]]] = {}
        for dataset, *version in self._db.fetch_for_keys(_VERSIONS, sorted(since.items()), self._org, most):
            found.setdefault(dataset, []).append((*version,))
        return found

    def _result_event(self, kept: ContractCheck) -> IncomingEvent:
        assertion = {
            "assertion": CHECK,
            "name": CHECK,
            "success": not kept.broken,
            "severity": "error",
            "expected": {"version": kept.contract.version, "columns": len(kept.contract.columns)},
            "actual": {"run": kept.run, "broken": kept.broken},
        }
        facets = {"dataQualityAssertions": custom_facet("DatasetFacet", {"assertions": [assertion]})}
        dataset = {"namespace": kept.namespace, "name": kept.name, "facets": facets}
        event = self._reader.read(
            build_event("DatasetEvent", format_timestamp(kept.at), None, {"dataset": dataset}), "contracts"
        )
        assert isinstance(event, IncomingEvent)  # noqa: S101 - it was written just now
        return event


def _unchecked_versions(
    versions: Iterable[tuple[int, str, str]], contract: ActiveContract, told: set[int]
) -> Iterator[tuple[int, str, str]]:
    """Give the versions to be looked at, each with the time at which it was."""
    told = {*told}
    for place, (produced_at, run, columns) in enumerate(versions):
        newest = place == 0
        at = max(produced_at, contract.declared_at) if newest else produced_at
        if at not in told and (newest or produced_at >= contract.declared_at):
            told.add(at)
            yield at, run, columns
