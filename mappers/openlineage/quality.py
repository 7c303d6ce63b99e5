"""Maps assertions, run tests and expectations to quality rows."""

from collections.abc import Mapping
from typing import Any

import msgspec

from mappers.canonical.identity import NO_ID, composite_id, digest, name_based_id
from mappers.canonical.rank import Rank
from mappers.canonical.rows import QualityCheckRow, QualityResultRow
from mappers.canonical_json import canonical_json
from mappers.openlineage.facets import (
    AssertionOutcome,
    AssertionsFacet,
    ExpectationsFacet,
    RunTestOutcome,
    RunTestsFacet,
)
from mappers.openlineage.row_builder import RowBuilder

_TEST_STATUS = {"pass": "PASS", "fail": "FAIL", "skip": "SKIP"}


def quality_score(counts_by_status: Mapping[str, int]) -> float | None:
    """Compute a quality score from 0 to 100; `counts_by_status` counts the latest result of each check.

    The score is the share of passed checks; a warning counts as half, and skipped checks are ignored. The score is
    None if no check passed, warned or failed.
    """
    passed_count, warned_count, failed_count = (
        counts_by_status.get(status, 0) for status in ("PASS", "WARN", "FAIL")
    )
    total = passed_count + warned_count + failed_count
    return round(100 * (passed_count + warned_count / 2) / total, 1) if total else None


def map_assertions(
    builder: RowBuilder, facet: AssertionsFacet, dataset_id: bytes, run_id: bytes, version_id: bytes | None
) -> None:
    """Add the checks on a dataset that an event reports, and their results."""
    for outcome in facet.assertions:
        name = outcome.name or outcome.assertion
        check_id = assertion_id(dataset_id, outcome.assertion, outcome.name, outcome.column)
        status = "PASS" if outcome.success else _failure_status(outcome.severity)
        builder.rows.append(
            QualityCheckRow(
                org_id=builder.org,
                qdef_id=check_id,
                dataset_id=dataset_id,
                job_id=None,
                name=name,
                field_name=outcome.column or "",
                created_at=builder.micros,
                **_definition_columns(builder, outcome.assertion, outcome.expected),
            )
        )
        _add_result(builder, check_id, run_id, version_id, status, outcome)


def map_expectations(builder: RowBuilder, facet: ExpectationsFacet, dataset_id: bytes) -> None:
    """Add the checks that a steward requires; they have the same ids as the checks that runs report."""
    for check in facet.checks:
        expected = canonical_json(check.expected).decode() if check.expected else None
        builder.rows.append(
            QualityCheckRow(
                org_id=builder.org,
                qdef_id=assertion_id(dataset_id, check.check, check.name, check.column),
                dataset_id=dataset_id,
                job_id=None,
                name=check.name,
                field_name=check.column or "",
                created_at=builder.micros,
                definition_order=builder.assertion_order(Rank.STEWARD, digest(f"{check.check}\0{expected}".encode())),
                sql_expression=check.check,
                expected_result=expected,
            )
        )


def map_run_tests(builder: RowBuilder, facet: RunTestsFacet, job_id: bytes, run_id: bytes) -> None:
    """Add the tests that a run reports, and their results."""
    for outcome in facet.tests:
        check_id = name_based_id("test", job_id.hex(), outcome.name)
        status = _TEST_STATUS.get(outcome.status.lower())
        if status is None:
            builder.notes.append(f"test {outcome.name[:64]!r} has an unknown status {outcome.status[:32]!r}: ignored")
            continue
        if status == "FAIL":
            status = _failure_status(outcome.severity)
        builder.rows.append(
            QualityCheckRow(
                org_id=builder.org,
                qdef_id=check_id,
                dataset_id=None,
                job_id=job_id,
                name=outcome.name,
                field_name="",
                created_at=builder.micros,
                **_definition_columns(builder, outcome.type, outcome.expected),
            )
        )
        _add_result(builder, check_id, run_id, None, status, outcome)


def assertion_id(dataset_id: bytes, assertion: str, name: str | None, column: str | None) -> bytes:
    """Compute the id of a check from everything that distinguishes it from other checks of the dataset."""
    return name_based_id("check", dataset_id.hex(), assertion, name or "", column or "")


def _failure_status(severity: str | None) -> str:
    return "WARN" if (severity or "").lower() in {"warn", "warning"} else "FAIL"


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return canonical_json(value).decode()


def _definition_columns(builder: RowBuilder, expression: str | None, expected: Any) -> dict[str, Any]:
    expected_text = _as_text(expected)
    content = digest(f"{expression}\0{expected_text}".encode())
    return {
        "definition_order": builder.assertion_order(0, content),
        "sql_expression": expression,
        "expected_result": expected_text,
    }


def _add_result(
    builder: RowBuilder,
    check_id: bytes,
    run_id: bytes,
    version_id: bytes | None,
    status: str,
    outcome: AssertionOutcome | RunTestOutcome,
) -> None:
    """Add the result of a check in a run."""
    detail = canonical_json(msgspec.to_builtins(outcome))
    time_key = str(builder.micros) if run_id == NO_ID else ""  # without a run, the time distinguishes results
    builder.rows.append(
        QualityResultRow(
            org_id=builder.org,
            qres_id=composite_id(b"result", check_id, run_id, time_key.encode()),
            qdef_id=check_id,
            run_id=run_id,
            dataset_version_id=version_id,
            result_order=builder.assertion_order(0, digest(detail)),
            executed_at=builder.micros,
            status=status,
            detail_json=detail.decode(),
        )
    )
