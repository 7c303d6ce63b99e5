"""Output formats of `lineage`, past states, and truncated graphs."""

import json
from uuid import UUID

import pytest

from bridge.cli.output import wrap_line
from mappers.openlineage.names import CanonicalEntity, canonical_dataset_name, canonical_job_name
from tests import factories as make
from tests.commands import RunCli
from tests.factories import columns, dataset, field, run_event, transformation

HOSTILE = 'a"b\\n\n]#<i>'
FIRST = run_event(
    job="first", inputs=[dataset("a")],
    outputs=[dataset("b", columnLineage=columns({"y": [field("a", "x", transformation(masking=True))]}))],
)  # fmt: skip
LATER = run_event(second=9, run=2, job="later", inputs=[dataset("c")], outputs=[dataset("b")])
HOSTILE_EVENT = run_event(job=HOSTILE, inputs=[dataset("a")], outputs=[dataset(HOSTILE)])
MERMAID = """\
flowchart LR
  n0["db b"]
  n1["db a"]
  n2["db c"]
  n1 -- "first" --> n0
  n2 -- "later" --> n0
"""
DOT = """\
digraph lineage {
  rankdir=LR; node [shape=box];
  n0 [label="db b"];
  n1 [label="db a"];
  n2 [label="db c"];
  n1 -> n0 [label="first"];
  n2 -> n0 [label="later"];
}
"""


def canonical_uuid(name: CanonicalEntity) -> str:
    return str(UUID(bytes=name.id))


def sorted_lines(text: str) -> list[str]:
    """Sort lines without node numbers, which depend on ids."""
    return sorted(text.translate(str.maketrans("", "", "0123456789")).splitlines())


@pytest.mark.parametrize(("form", "text"), [("mermaid", MERMAID), ("dot", DOT)])
def test_diagram_output(run_cli: RunCli, form: str, text: str) -> None:
    assert sorted_lines(run_cli(f"lineage db b --output {form}", FIRST, LATER).stdout) == sorted_lines(text)


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("mermaid", '["db a#34;b#92;n#92;n#93;#35;#60;i#62;"]'),
        ("dot", r'[label="db a\"b\\n\\n]#<i>"];'),
    ],
)
def test_diagrams_escape_names(run_cli: RunCli, form: str, label: str) -> None:
    result = run_cli(["lineage", "db", HOSTILE, "--output", form], HOSTILE_EVENT)
    assert label in result.stdout


def test_json_output(run_cli: RunCli) -> None:
    a, b = (
        {"id": canonical_uuid(canonical_dataset_name("default", "db", name)), "namespace": "db", "name": name}
        for name in "ab"
    )
    first = {
        "id": canonical_uuid(canonical_job_name("default", "jobs", "first")),
        "namespace": "jobs",
        "name": "first",
    }
    result = json.loads(run_cli("lineage db b --output json --columns --granularity run", FIRST).stdout)
    assert result == {
        "start": b,
        "edges": [
            {
                "source": a, "target": b, "job": first, "step": None,
                "evidence": "column", "run_id": make.run_uuid(1), "source_version": None, "target_version": make.run_uuid(1), "retired": False,
            }
        ],
        "columns": [
            {
                "source": a | {"column": "x"}, "target": b | {"column": "y"},
                "type": "DIRECT", "subtype": "IDENTITY", "masking": True, "job": first, "logical_job": first,
            }
        ],
        "cut": None,
        "next": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "jobs", "cut"),
    [
        ("", {"first", "later"}, None),
        ("--as-of 2026-01-01T00:00:08", {"first"}, None),
        ("--as-of 2025-12-31", set(), None),
        ("--max-edges 1", {"first"}, "size"),
        ("--depth 1", {"first", "later"}, "depth"),
    ],
)
def test_limits_time_size_and_depth(run_cli: RunCli, options: str, jobs: set[str], cut: str | None) -> None:
    result = json.loads(run_cli(f"lineage db b --output json {options}", FIRST, LATER).stdout)
    assert result["cut"] == cut
    found = {edge["job"]["name"] for edge in result["edges"]}
    assert found == jobs if cut != "size" else len(found) == 1


def test_tree_deeper_than_recursion_limit(run_cli: RunCli) -> None:
    chain = [
        run_event(run=n + 1, job=f"j{n}", inputs=[dataset(f"d{n}")], outputs=[dataset(f"d{n + 1}")])
        for n in range(1_200)
    ]
    result = run_cli("lineage db d1200 --depth 2000", *chain).stdout.splitlines()
    assert len(result) == 1_201
    assert result[-1].endswith("<- db d0   [jobs j0, inferred]")


def test_column_lineage_output(run_cli: RunCli) -> None:
    result = run_cli("lineage db b --column y", FIRST)
    assert result.stdout == "db b.y  <- db a.x  DIRECT/IDENTITY [masked]   [jobs first]\n"
    assert run_cli("lineage db a --column x --direction downstream", FIRST).stdout == result.stdout
    (hop,) = json.loads(run_cli("lineage db b --column y --output json", FIRST).stdout)["hops"]
    assert (hop["source"]["column"], hop["target"]["column"], hop["masking"]) == ("x", "y", True)
    assert hop["job"]["name"] == "first"
    assert run_cli("lineage db b --column x --direction downstream", FIRST).exit_code == 1
    unknown = run_cli("lineage db b --column nothing", FIRST)
    assert (unknown.exit_code, unknown.stderr) == (1, "error: no column 'nothing' in the dataset; known columns: y\n")
    assert run_cli("lineage db b --column y --direction downstream", FIRST).stdout == "no column lineage from here\n"
    assert run_cli("lineage db b --column y --output dot", FIRST).exit_code == 2


@pytest.mark.parametrize(
    ("line", "wrapped"),
    [
        ("short", "short"),
        ("  one two three four five", "  one two three four\n      five"),
        ("│  ├─ <- db customers   [job]", "│  ├─ <- db\n│  │      customers\n│  │      [job]"),
        ("└─ a-b-c-d-e-f-g-h-i-j", "└─ a-b-c-d-e-f-g-h-i\n       -j"),
        ("x" * 25, "x" * 20 + "\n    " + "x" * 5),
    ],
)
def test_lines_are_wrapped_at_the_width_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch, line: str, wrapped: str
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert wrap_line(line) == line
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert wrap_line(line) == wrapped
