"""What stewards say of datasets, and how what arrives keeps the contracts that they wrote down."""

from typing import Any

import msgspec

from bridge.catalogue.question import After, Limit, Page, Question, View, after, page
from bridge.catalogue.things import AboutDataset, Thing, thing
from bridge.store.graph import Named
from bridge.store.said import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA, said_of
from mappers.governance.facet import FILE
from mappers.when import iso

CHECK = "contract"
#: In the order of their times, those of one time by their ids; from a place on.
_RESULTS = """
SELECT r.executed_at, r.qres_id, r.status, r.detail_json, d.class_id, n.namespace_uri, h.name
FROM quality_check_def q
JOIN quality_check_result r ON r.org_id = q.org_id AND r.qdef_id = q.qdef_id
JOIN ol_dataset d ON d.org_id = q.org_id AND d.dataset_id = q.dataset_id
JOIN ol_dataset h ON h.org_id = d.org_id AND h.dataset_id = d.class_id
JOIN ol_namespace n ON n.org_id = h.org_id AND n.namespace_id = h.namespace_id
WHERE q.org_id = ?1 AND q.name = ?2 AND q.sql_expression = ?2 {which}
  AND (r.executed_at < ?3 OR (r.executed_at = ?3 AND r.qres_id < ?4))
ORDER BY r.executed_at DESC, r.qres_id DESC LIMIT ?5
"""
_VIOLATIONS = _RESULTS.format(which="AND r.status = 'FAIL'")
_OF_DATASET = _RESULTS.format(
    which="AND q.dataset_id IN (SELECT m.dataset_id FROM ol_dataset m WHERE m.org_id = ?1 AND m.class_id = ?6)"
)
_LATEST = (1 << 63) - 1, b"\xff" * 17
_SHOWN_RESULTS = 50


class ContractResult(msgspec.Struct, frozen=True):
    """How a version of a dataset kept its contract; `broken` says what it did not keep."""

    dataset: Thing
    at: str
    kept: bool
    broken: list[str]
    run_id: str | None
    contract_version: str | None


class GovernanceAnswer(msgspec.Struct, frozen=True):
    """What stewards say of a dataset, as they wrote it, and how its newest versions kept its contract."""

    dataset: Thing
    governance: dict[str, Any] | None
    contract: dict[str, Any] | None
    expectations: list[dict[str, Any]]
    sla: dict[str, Any] | None
    history: list[ContractResult]


class Governance(AboutDataset[GovernanceAnswer], frozen=True, kw_only=True):
    """What stewards say of a dataset, and how what arrives keeps its contract."""

    path = "/governance"
    answer = GovernanceAnswer

    def answered(self, view: View) -> GovernanceAnswer:
        """Look it up."""
        dataset = self.dataset(view)
        facets = (GOVERNANCE, CONTRACT, EXPECTATIONS, SLA)
        said = {facet: said_of(view.db, view.org, [dataset], facet).get(dataset) for facet in facets}
        governance = said[GOVERNANCE]
        rows = view.db.rows(_OF_DATASET, view.org, CHECK, *_LATEST, _SHOWN_RESULTS, dataset)
        return GovernanceAnswer(
            thing(dataset, view.graph().dataset(dataset)),
            {key: value for key, value in governance.items() if key != FILE} if governance else None,
            said[CONTRACT],
            (said[EXPECTATIONS] or {}).get("checks", []),
            said[SLA],
            [_result(row) for row in rows],
        )


class Violations(Question[Page[ContractResult]], frozen=True, kw_only=True):
    """Versions that did not keep the contract of their asset, the newest first."""

    path = "/contract-violations"
    answer = Page[ContractResult]
    limit: Limit = 50
    after: After = None

    def answered(self, view: View) -> Page[ContractResult]:
        """List them."""
        place = after(self.after, tuple[int, str])
        at, last = (place[0], bytes.fromhex(place[1])) if place else _LATEST
        rows = view.db.rows(_VIOLATIONS, view.org, CHECK, at, last, self.limit + 1)
        shown, next_ = page(rows, self.limit, lambda row: (row[0], bytes(row[1]).hex()))
        return Page([_result(row) for row in shown], next_)


def _result(row: tuple[Any, ...]) -> ContractResult:
    at, _, status, detail, dataset, namespace, name = row
    said = msgspec.json.decode(detail or "{}")
    actual, expected = said.get("actual") or {}, said.get("expected") or {}
    return ContractResult(
        thing(dataset, Named(namespace, name)),
        iso(at),
        status == "PASS",
        list(actual.get("broken") or ()),
        actual.get("run"),
        expected.get("version") or None,
    )
