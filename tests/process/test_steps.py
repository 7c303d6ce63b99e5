"""Steps: inputs, order of execution, and errors."""

from pathlib import Path

import pytest

from bridge.process.definition import ProcessDefinition
from bridge.process.steps import load_steps, upstream_names
from bridge.settings.yaml_model import read_model

HEAD = "process: {name: p}\ninputs: [{dataset: a, as: a}]\noutputs: [{dataset: o, from: last}]\nsteps:\n"


def read_definition(folder: Path, steps: str) -> ProcessDefinition:
    file = folder / "p.yaml"
    file.write_text(HEAD + steps, encoding="utf-8")
    return read_model(file, ProcessDefinition)


def test_steps_are_sorted_by_dependencies(tmp_path: Path) -> None:
    (tmp_path / "second.sql").write_text("SELECT * FROM first JOIN a USING (id)", encoding="utf-8")
    (tmp_path / "maker.py").write_text("def make(views, params):\n    return views['second']\n", encoding="utf-8")
    definition = read_definition(
        tmp_path,
        "  - {name: last, python: 'maker:make', reads: [second]}\n"
        "  - {name: second, sql_file: second.sql}\n"
        "  - {name: first, sql: SELECT * FROM A}\n",
    )
    steps, problems = load_steps(definition, tmp_path)
    assert problems == []
    assert [(step.step.name, step.reads) for step in steps] == [
        ("first", ("a",)),
        ("second", ("a", "first")),
        ("last", ("second",)),
    ]
    assert upstream_names(steps, ["second"]) == {"second", "first", "a"}


INVALID = {
    "cycle": ("  - {name: last, sql: SELECT * FROM b}\n  - {name: b, sql: SELECT * FROM last}\n", "is a cycle"),
    "invalid SQL": ("  - {name: last, sql: SELEC 1}\n", "steps.last: line 1, column 1"),
    "statement other than a query": ("  - {name: last, sql: DROP TABLE a}\n", "steps.last: line 1"),
    "unknown view": ("  - {name: last, sql: SELECT * FROM trades}\n", "steps.last: reads unknown view trades; known views: a, last"),
    "missing file": ("  - {name: last, sql_file: none.sql}\n", "none.sql: cannot be read: No such file"),
    "missing module": ("  - {name: last, python: 'nowhere:f', reads: [a]}\n", "no module nowhere next to the process file, and none is installed"),
    "missing function": ("  - {name: last, python: 'maker:other', reads: [a]}\n", "has no function other; functions: make"),
    "invalid module": ("  - {name: last, python: 'broken:f', reads: [a]}\n", "is not valid Python"),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "message"), INVALID.values(), ids=INVALID)
def test_step_errors_are_reported(tmp_path: Path, steps: str, message: str) -> None:
    (tmp_path / "maker.py").write_text("def make(views, params): ...\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("def f(:\n", encoding="utf-8")
    _, problems = load_steps(read_definition(tmp_path, steps), tmp_path)
    assert len(problems) == 1
    assert message in problems[0]


def test_modules_are_not_executed_to_find_functions(tmp_path: Path) -> None:
    (tmp_path / "maker.py").write_text("raise SystemExit(3)\ndef make(views, params): ...\n", encoding="utf-8")
    steps, problems = load_steps(
        read_definition(tmp_path, "  - {name: last, python: 'maker:make', reads: [a]}\n"), tmp_path
    )
    assert (len(steps), problems) == (1, [])
