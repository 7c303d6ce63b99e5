"""Query: quality checks of a dataset and their newest results."""

from typing import Any, Literal

import msgspec

from bridge.queries.query import QueryContext
from bridge.queries.subject import DatasetSubjectQuery
from bridge.store.references import NodeReference, node_reference
from mappers.openlineage.quality import quality_score
from mappers.timestamps import format_timestamp

_RESULT_COLUMNS = """
q.name, nullif(q.field_name, ''), q.sql_expression, q.expected_result, t.status, t.executed_at, t.detail_json,
  r.run_uuid
"""
_NEWEST_RESULTS = f"""
SELECT {_RESULT_COLUMNS} FROM (
  SELECT x.*, row_number() OVER (PARTITION BY x.qdef_id ORDER BY x.executed_at DESC, x.qres_id) AS rn
  FROM ol_dataset m
  JOIN quality_check_def c ON c.org_id = m.org_id AND c.dataset_id = m.dataset_id
  JOIN quality_check_result x ON x.org_id = c.org_id AND x.qdef_id = c.qdef_id
  WHERE m.org_id = ?1 AND m.class_id = ?2
) t
JOIN quality_check_def q ON q.org_id = t.org_id AND q.qdef_id = t.qdef_id
LEFT JOIN ol_run r ON r.org_id = t.org_id AND r.run_id = t.run_id
WHERE t.rn = 1
ORDER BY q.field_name, q.name, q.qdef_id
"""
#: Results that a run reported for the datasets that it read or wrote.
_RUN_RESULTS = f"""
SELECT {_RESULT_COLUMNS} FROM (
  SELECT dataset_id FROM ol_run_input WHERE org_id = ?1 AND run_id = ?2
  UNION SELECT dataset_id FROM ol_run_output WHERE org_id = ?1 AND run_id = ?2
) m
JOIN quality_check_def q ON q.org_id = ?1 AND q.dataset_id = m.dataset_id
JOIN quality_check_result t ON t.org_id = q.org_id AND t.qdef_id = q.qdef_id AND t.run_id = ?2
JOIN ol_run r ON r.org_id = t.org_id AND r.run_id = t.run_id
ORDER BY q.field_name, q.name, q.qdef_id
"""


class CheckResult(msgspec.Struct, frozen=True):
    """The last result of a check, with its details."""

    name: str
    column: str | None
    check: str | None
    expected: str | None
    status: Literal["PASS", "WARN", "FAIL", "SKIP"]
    executed_at: str
    run_id: str | None
    detail: msgspec.Raw


class QualityChecksResult(msgspec.Struct, frozen=True):
    """The checks of a dataset with their newest results, and the number of checks by status."""

    dataset: NodeReference
    #: Percentage of checks that passed, a warning counting half; null if no check passed or failed.
    score: float | None
    counts: dict[str, int]
    checks: list[CheckResult]


class QualityQuery(DatasetSubjectQuery[QualityChecksResult], frozen=True, kw_only=True):
    """The quality checks of a dataset with their last results."""

    path = "/quality"
    result_type = QualityChecksResult

    def run(self, ctx: QueryContext) -> QualityChecksResult:
        dataset = self.group_id(ctx)
        checks = [_check_result(row) for row in ctx.db.fetch_all(_NEWEST_RESULTS, ctx.org, dataset)]
        counts = dict.fromkeys(("PASS", "WARN", "FAIL", "SKIP"), 0)
        for check in checks:
            counts[check.status] += 1
        return QualityChecksResult(
            node_reference(dataset, ctx.graph().dataset_name(dataset)), quality_score(counts), counts, checks
        )


def check_results_of_run(ctx: QueryContext, run: bytes) -> list[CheckResult]:
    """Read the results of the checks that a run performed on its datasets."""
    return [_check_result(row) for row in ctx.db.fetch_all(_RUN_RESULTS, ctx.org, run)]


def _check_result(row: tuple[Any, ...]) -> CheckResult:
    name, column, check, expected, status, executed_at, detail, run = row
    raw_detail = msgspec.Raw((detail or "null").encode())
    return CheckResult(name, column, check, expected, status, format_timestamp(executed_at), run, raw_detail)
