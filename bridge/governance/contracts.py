"""Checks new dataset versions against contracts; results are quality check events.

A version is checked once its run is complete. The result event carries the time of the version, so that every process
produces the same event. A new contract is checked against the newest version immediately.
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
#: How late a version may arrive after a newer one was checked.
_LATE_ARRIVAL_MICROS = 7 * 86_400 * 1_000_000
#: The facet name is a literal so that the partial index applies.
_CONTRACTS = f"""
SELECT m.class_id, f.facet_order, f.body FROM facet f
JOIN ol_dataset m ON m.org_id = f.org_id AND m.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND f.about_id = ?2 AND f.name = '{CONTRACT}' AND f.body IS NOT NULL
"""
_LAST_CHECKED = """
SELECT qdef_id, max(executed_at) FROM quality_check_result WHERE org_id = ?1 AND qdef_id {ids} GROUP BY qdef_id
"""
#: The newest versions of each dataset since its own start time, newest first.
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
_CHECKED_TIMES = """
SELECT r.qdef_id, r.executed_at FROM {keys} g
JOIN quality_check_result r ON r.org_id = ?1 AND r.qdef_id = g.a AND r.executed_at >= g.b
"""
_MAX_VERSIONS = 1_000
#: Datasets per batch; their versions are held in memory.
_BATCH_SIZE = 500


#: Time, run UUID and columns (as JSON) of a version.
_VersionColumns = tuple[int, str, str]


class ActiveContract(NamedTuple):
    """A contract and the time of its declaration."""

    declared_at: int
    version: str
    columns: list[dict[str, Any]]


class ContractCheck(NamedTuple):
    """The check of a dataset version against its contract."""

    namespace: str
    name: str
    checked_at: int
    run: str
    contract: ActiveContract
    violations: list[str]


class ContractChecker:
    """Checks versions that were not checked yet. Not thread-safe."""

    def __init__(self, db: Database, org: str, reader: EventReader, writer: Writer) -> None:
        self._db = db
        self._org = org
        self._reader = reader
        self._writer = writer

    def check_new_versions(self) -> list[ContractCheck]:
        """Check new versions, write the results, and return them."""
        checks = list(self._pending_checks())
        events = [self._build_result_event(check) for check in checks]
        if events:
            self._writer.write(events)
        for check in checks:
            if check.violations:
                _log.warning(
                    "contract violated",
                    dataset=f"{check.namespace} {check.name}",
                    run=check.run,
                    violations="; ".join(check.violations),
                )
        return checks

    def _pending_checks(self) -> Iterator[ContractCheck]:
        contracts = self._read_contracts()
        members = group_members(self._db, self._org, contracts)
        for start in range(0, len(members), _BATCH_SIZE):
            yield from self._check_batch(contracts, members[start : start + _BATCH_SIZE])

    def _check_batch(
        self, contracts: dict[bytes, ActiveContract], members: Sequence[GroupMember]
    ) -> Iterator[ContractCheck]:
        """Check the versions of these datasets that have no result yet."""
        check_ids = {member.dataset_id: assertion_id(member.dataset_id, CHECK, CHECK, None) for member in members}
        last_check_times = dict(self._db.fetch_for_ids(_LAST_CHECKED, sorted(check_ids.values()), self._org))
        since = {
            dataset_id: last_check_times[check_id] - _LATE_ARRIVAL_MICROS
            for dataset_id, check_id in check_ids.items()
            if check_id in last_check_times
        }
        checked_times: dict[bytes, set[int]] = {}
        since_by_check = [(check_ids[dataset_id], time) for dataset_id, time in since.items()]
        for check_id, time in self._db.fetch_for_keys(_CHECKED_TIMES, since_by_check, self._org):
            checked_times.setdefault(check_id, set()).add(time)
        versions = self._read_versions(since, _MAX_VERSIONS)
        unchecked_dataset_ids = check_ids.keys() - since.keys()
        versions |= self._read_versions(dict.fromkeys(unchecked_dataset_ids, 0), limit=1)
        for group_id, dataset_id, namespace, name in members:
            contract = contracts[group_id]
            unchecked_versions = _unchecked_versions(
                versions.get(dataset_id, []), contract, checked_times.get(check_ids[dataset_id], set())
            )
            for checked_at, run, columns in unchecked_versions:
                violations = contract_violations(contract.columns, msgspec.json.decode(columns))
                yield ContractCheck(namespace, name, checked_at, run, contract, violations)

    def _read_contracts(self) -> dict[bytes, ActiveContract]:
        """Return the newest contract of each identity group."""
        contracts: dict[bytes, ActiveContract] = {}
        rows = self._db.fetch_all(_CONTRACTS, self._org, NO_ID)
        # Sorted by facet_order, so that the newest contract wins.
        for order, group_id, body in sorted((order, group_id, body) for group_id, order, body in rows):
            if contract := validate_contract(msgspec.json.decode(body)):
                contracts[group_id] = ActiveContract(
                    order_micros(order), contract.get("version", ""), contract["columns"]
                )
        return contracts

    def _read_versions(self, since: Mapping[bytes, int], limit: int) -> dict[bytes, list[_VersionColumns]]:
        """Return the versions of each dataset since its start time in `since`, newest first, with run and columns."""
        versions: dict[bytes, list[_VersionColumns]] = {}
        rows = self._db.fetch_for_keys(_VERSIONS, sorted(since.items()), self._org, limit)
        for dataset_id, produced_at, run, columns in rows:
            versions.setdefault(dataset_id, []).append((produced_at, run, columns))
        return versions

    def _build_result_event(self, check: ContractCheck) -> IncomingEvent:
        """Build a quality check event with the violations."""
        assertion = {
            "assertion": CHECK,
            "name": CHECK,
            "success": not check.violations,
            "severity": "error",
            "expected": {"version": check.contract.version, "columns": len(check.contract.columns)},
            "actual": {"run": check.run, "broken": check.violations},
        }
        facets = {"dataQualityAssertions": custom_facet("DatasetFacet", {"assertions": [assertion]})}
        dataset = {"namespace": check.namespace, "name": check.name, "facets": facets}
        event = self._reader.read(
            build_event("DatasetEvent", format_timestamp(check.checked_at), None, {"dataset": dataset}), "contracts"
        )
        assert isinstance(event, IncomingEvent)  # noqa: S101 - build_event() produces valid events
        return event


def _unchecked_versions(
    versions: Iterable[_VersionColumns], contract: ActiveContract, checked_times: set[int]
) -> Iterator[_VersionColumns]:
    """Select the versions to check, each with the time of its result event."""
    checked_times = {*checked_times}
    for index, (produced_at, run, columns) in enumerate(versions):
        is_newest = index == 0
        checked_at = max(produced_at, contract.declared_at) if is_newest else produced_at
        if checked_at not in checked_times and (is_newest or produced_at >= contract.declared_at):
            checked_times.add(checked_at)
            yield checked_at, run, columns
