"""`make audit` fails on vulnerabilities, skipped packages and an unreachable service."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

verdict = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "audit.py"))["verdict"]

SOUND = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "not found on PyPI"}


def vulnerable(*fixes: str) -> dict[str, Any]:
    return {"name": "c", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": list(fixes)}]}


@pytest.mark.parametrize(
    ("packages", "problems"),
    [
        ([SOUND], []),
        ([], ["the locks name no package"]),
        ([SOUND, vulnerable("3", "4")], ["c 2: CVE-1, fixed in 3, 4"]),
        ([vulnerable(), vulnerable()], ["c 2: CVE-1, fixed in no version"]),
        ([SOUND, SKIPPED], ["1 of 2 packages could not be looked up: b: not found on PyPI"]),
        ([SKIPPED, vulnerable("3")],
         ["c 2: CVE-1, fixed in 3", "1 of 2 packages could not be looked up: b: not found on PyPI"]),
    ],
)  # fmt: skip
def test_reports_vulnerabilities_and_skipped_packages(packages: list[dict[str, Any]], problems: list[str]) -> None:
    assert verdict(json.dumps({"dependencies": packages, "fixes": []}), "") == problems


@pytest.mark.parametrize(
    ("out", "err", "reason"),
    [
        ("", "Traceback …\n  File …\nConnectionError: no route to the service\n", "ConnectionError: no route to the service"),
        ("", "error: Failed to fetch\n  cause: Connection refused\n", "cause: Connection refused"),
        ("{}", "", "it said nothing"),
    ],
)  # fmt: skip
def test_reports_why_service_did_not_answer(out: str, err: str, reason: str) -> None:
    assert verdict(out, err) == [f"nothing was audited, the vulnerability service did not answer: {reason}"]
