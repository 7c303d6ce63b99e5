"""Queries: governance of a dataset, and contract violations."""

from typing import Any

import msgspec

from bridge.queries.query import Cursor, Limit, Page, Query, QueryContext, paginate, parse_cursor
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.governance_facets import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA, read_facets
from bridge.store.lineage.graph import QualifiedName
from bridge.store.references import NodeReference, node_reference
from mappers.governance.facet import FILE
from mappers.timestamps import format_timestamp

CONTRACT_CHECK_NAME = "contract"
#: Results of contract checks, newest first, after a position (time and id).
_RESULTS = """
SELECT r.executed_at, r.qres_id, r.status, r.detail_json, d.class_id, n.namespace_uri, h.name
FROM quality_check_def q
JOIN quality_check_result r ON r.org_id = q.org_id AND r.qdef_id = q.qdef_id
JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
JOIN ol_dataset h ON h.org_id = d.org_id AND h.dataset_id = d.class_id
JOIN ol_namespace n ON n.org_id = h.org_id AND n.namespace_id = h.namespace_id
WHERE q.org_id = ?1 AND q.name = ?2 AND q.sql_expression = ?2 {condition}
  AND (r.executed_at < ?3 OR (r.executed_at = ?3 AND r.qres_id < ?4))
ORDER BY r.executed_at DESC, r.qres_id DESC LIMIT ?5
"""
_VIOLATIONS = _RESULTS.format(condition="AND r.status = 'FAIL'")
_DATASET_RESULTS = _RESULTS.format(
    condition="AND q.dataset_id IN (SELECT m.dataset_id FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id = ?6)"
)
_AFTER_ALL_RESULTS = (1 << 63) - 1, b"\xff" * 17
_SHOWN_RESULTS = 50


class ContractResult(msgspec.Struct, frozen=True):
    """The result of checking a version against its contract; `broken` lists the violations."""

    dataset: NodeReference
    at: str
    kept: bool
    broken: list[str]
    run_id: str | None
    contract_version: str | None


class GovernanceResult(msgspec.Struct, frozen=True):
    """The governance of a dataset as stewards wrote it, and whether the newest versions met the contract."""

    dataset: NodeReference
    governance: dict[str, Any] | None
    contract: dict[str, Any] | None
    expectations: list[dict[str, Any]]
    sla: dict[str, Any] | None
    history: list[ContractResult]


class GovernanceQuery(DatasetSubjectQuery[GovernanceResult], frozen=True, kw_only=True):
    """Governance of a dataset, and whether its versions meet the contract."""

    path = "/governance"
    result_type = GovernanceResult

    def run(self, ctx: QueryContext) -> GovernanceResult:
        dataset = self.group_id(ctx)
        facets = (GOVERNANCE, CONTRACT, EXPECTATIONS, SLA)
        facet_bodies = {facet: read_facets(ctx.db, ctx.org, [dataset], facet).get(dataset) for facet in facets}
        governance = facet_bodies[GOVERNANCE]
        rows = ctx.db.fetch_all(
            _DATASET_RESULTS, ctx.org, CONTRACT_CHECK_NAME, *_AFTER_ALL_RESULTS, _SHOWN_RESULTS, dataset
        )
        return GovernanceResult(
            node_reference(dataset, ctx.graph().dataset_name(dataset)),
            {key: value for key, value in governance.items() if key != FILE} if governance else None,
            facet_bodies[CONTRACT],
            (facet_bodies[EXPECTATIONS] or {}).get("checks", []),
            facet_bodies[SLA],
            [_contract_result(row) for row in rows],
        )


class ContractViolationsQuery(Query[Page[ContractResult]], frozen=True, kw_only=True):
    """Versions that violated the contract of their asset, newest first."""

    path = "/contract-violations"
    result_type = Page[ContractResult]
    limit: Limit = 50
    after: Cursor = None

    def run(self, ctx: QueryContext) -> Page[ContractResult]:
        before, before_id = _AFTER_ALL_RESULTS
        if (cursor := parse_cursor(self.after, tuple[int, str])) is not None:
            before, id_hex = cursor
            before_id = bytes.fromhex(id_hex)
        rows = ctx.db.fetch_all(_VIOLATIONS, ctx.org, CONTRACT_CHECK_NAME, before, before_id, self.limit + 1)
        page, next_cursor = paginate(rows, self.limit, _cursor_key)
        return Page([_contract_result(row) for row in page], next_cursor)


def _cursor_key(row: tuple[Any, ...]) -> tuple[int, str]:
    executed_at, result_id, *_ = row
    return executed_at, bytes(result_id).hex()


def _contract_result(row: tuple[Any, ...]) -> ContractResult:
    """Convert a row of `_RESULTS`."""
    executed_at, _, status, detail, dataset, namespace, name = row
    content = msgspec.json.decode(detail or "{}")
    actual = content.get("actual") or {}
    expected = content.get("expected") or {}
    return ContractResult(
        node_reference(dataset, QualifiedName(namespace, name)),
        format_timestamp(executed_at),
        status == "PASS",
        list(actual.get("broken") or ()),
        actual.get("run"),
        expected.get("version") or None,
    )
