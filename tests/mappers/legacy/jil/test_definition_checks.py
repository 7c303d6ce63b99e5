"""Job definitions that Autosys would reject or never run."""

import pytest

from mappers.legacy.jil.definition_checks import incomplete_definitions
from tests.mappers.legacy.jil.test_job_catalog import build_catalog

COMMAND = "insert_job: A  job_type: {}\ncommand: x\nmachine: m\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (COMMAND.format("CMD"), []),
        (COMMAND.format("c"), []),
        (COMMAND.format("BOX"), []),
        (COMMAND.format("CMDD"), ["warning: A has the unknown job_type CMDD; did you mean CMD?"]),
        ("insert_job_type: Q\ncommand: y\n" + COMMAND.format("Q"), []),
        ("insert_job: A  job_type: CMD\nmachine: m\n", ["error: A has the job_type CMD, but no command"]),
        ("insert_job: A  job_type: FW\nmachine: m\n", ["error: A has the job_type FW, but no watch_file"]),
        ("insert_job: A\ncommand: x\n", ["warning: A has the job_type CMD, but no machine"]),
        (COMMAND.format("CMD") + "condition: s(B, 12.30) & s(C, 9999)\n", []),
        (COMMAND.format("CMD") + "condition: s(B, 01.75)\n",
         ["error: A condition has the lookback 01.75: expected hhhh.mm with at most 59 minutes"]),
    ],
)  # fmt: skip
def test_incomplete_definitions(text: str, expected: list[str]) -> None:
    diagnostics = incomplete_definitions(build_catalog(text))
    assert [f"{diagnostic.level}: {diagnostic.message}" for diagnostic in diagnostics] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("comand: x", ["comand is not a known attribute of a job; did you mean command?: kept as it is"]),
        ("zzzzzz: x", ["zzzzzz is not a known attribute of a job: kept as it is"]),
    ],
)
def test_unknown_attribute_has_suggestion(line: str, expected: list[str]) -> None:
    assert [problem.message for problem in build_catalog(f"insert_job: A\n{line}\n").problems] == expected
