"""Checks and their outcomes, whether a dataset's assertions or a run's tests."""

from typing import Any

import msgspec

from mappers.canonical.facts import QualityCheck, QualityResult
from mappers.canonical.identity import NOBODY, digest, joined_id, named_id
from mappers.canonical.order import Rank
from mappers.openlineage.facets import Assertion, Assertions, Expectations, Test, Tests
from mappers.openlineage.parts import canonical_json
from mappers.openlineage.statements import Statements

_TEST_STATUS = {"pass": "PASS", "fail": "FAIL", "skip": "SKIP"}


def state_assertions(say: Statements, facet: Assertions, dataset: bytes, run: bytes, version: bytes | None) -> None:
    """State the outcome of every assertion about a dataset."""
    for item in facet.assertions:
        name = item.name or item.assertion
        check = assertion_id(dataset, item.assertion, item.name, item.column)
        status = "PASS" if item.success else _failed(item.severity)
        say.rows.append(
            QualityCheck(
                say.org,
                check,
                dataset,
                None,
                name,
                item.column or "",
                say.micros,
                *_definition(say, item.assertion, item.expected),
            )
        )
        _result(say, check, run, version, status, item)


def state_expectations(say: Statements, facet: Expectations, dataset: bytes) -> None:
    """State the checks that a steward wants: each is the one of which runs tell how it ended."""
    for item in facet.checks:
        expected = canonical_json(item.expected).decode() if item.expected else None
        definition = say.order(Rank.STEWARD, digest(f"{item.check}\0{expected}".encode())), item.check, expected
        check = assertion_id(dataset, item.check, item.name, item.column)
        column = item.column or ""
        say.rows.append(QualityCheck(say.org, check, dataset, None, item.name, column, say.micros, *definition))


def state_tests(say: Statements, facet: Tests, job: bytes, run: bytes) -> None:
    """State the outcome of every test of a run."""
    for item in facet.tests:
        check = named_id("test", job.hex(), item.name)
        status = _TEST_STATUS.get(item.status.lower())
        if status is None:
            say.notes.append(f"test {item.name[:64]!r} has the unknown status {item.status[:32]!r}: ignored")
            continue
        if status == "FAIL":
            status = _failed(item.severity)
        say.rows.append(
            QualityCheck(
                say.org, check, None, job, item.name, "", say.micros, *_definition(say, item.type, item.expected)
            )
        )
        _result(say, check, run, None, status, item)


def assertion_id(dataset: bytes, assertion: str, name: str | None, column: str | None) -> bytes:
    """Identify a check of a dataset by what tells it from others."""
    return named_id("check", dataset.hex(), assertion, name or "", column or "")


def _failed(severity: str | None) -> str:
    return "WARN" if (severity or "").lower() in {"warn", "warning"} else "FAIL"


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return canonical_json(value).decode()


def _definition(say: Statements, expression: str | None, expected: Any) -> tuple[bytes, str | None, str | None]:
    text = _text(expected)
    content = digest(f"{expression}\0{text}".encode())
    return say.order(0, content), expression, text


def _result(
    say: Statements, check: bytes, run: bytes, version: bytes | None, status: str, item: Assertion | Test
) -> None:
    detail = canonical_json(msgspec.to_builtins(item))
    moment_of = str(say.micros) if run == NOBODY else ""
    say.rows.append(
        QualityResult(
            say.org,
            joined_id(b"result", check, run, moment_of.encode()),
            check,
            run,
            version,
            say.order(0, digest(detail)),
            say.micros,
            status,
            detail.decode(),
        )
    )
