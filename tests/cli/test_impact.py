"""What `impact` prints, and how a dataset is named on the command line."""

import json
from uuid import UUID

import pytest

from mappers.openlineage.names import canonical_dataset_name, canonical_job_name
from tests import factories as make
from tests.commands import Ask
from tests.factories import dataset, run_event

OWNED = {"ownership": make.facet(owners=[{"name": "etl", "type": "team"}])}
EVENTS = (
    run_event(
        job="first", job_facets=OWNED, inputs=[dataset("/a", "s3://lake")], outputs=[dataset("b\n", "s3://lake/x")]
    ),
    run_event(second=1, run=2, job="second", inputs=[dataset("b\n", "s3://lake/x")], outputs=[dataset("c")]),
)
ALL = """\
2 datasets
    1  s3://lake/x b\\n
    2  db c
2 jobs
    1  jobs first   [etl]
    2  jobs second
owners: etl
"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["s3://lake", "/a"], ALL),
        (["s3://lake/a"], ALL),
        (["s3://lake//a"], ALL),
        (
            ["s3://lake", "/a", "--depth", "1"],
            "1 datasets\n    1  s3://lake/x b\\n\n1 jobs\n    1  jobs first   [etl]\nowners: etl\n… results truncated: raise --depth\n",
        ),
        (["s3://lake/x/b\n"], "1 datasets\n    1  db c\n1 jobs\n    1  jobs second\nowners: none\n"),
        (["db/c"], "0 datasets\n0 jobs\nowners: none\n"),
    ],
)
def test_what_a_change_reaches(ask: Ask, words: list[str], text: str) -> None:
    assert ask(["impact", *words], *EVENTS).stdout == text


def test_json_is_a_contract(ask: Ask) -> None:
    dataset_id, job_id = (str(UUID(bytes=named.id)) for named in (
        canonical_dataset_name("default", "s3://lake/x", "b\n"), canonical_job_name("default", "jobs", "first"),
    ))  # fmt: skip
    assert json.loads(ask("impact s3://lake/a --output json --depth 1", *EVENTS).stdout) == {
        "datasets": [
            {"id": dataset_id, "namespace": "s3://lake/x", "name": "b\n", "distance": 1, "owners": [], "sla": None}
        ],
        "jobs": [{"id": job_id, "namespace": "jobs", "name": "first", "distance": 1, "owners": ["etl"], "sla": None}],
        "owners": ["etl"],
        "cut": "depth",
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("impact nowhere", "error: no dataset 'nowhere' in the store"),
        ("impact db nothing", "error: no dataset 'nothing' in namespace 'db' in the store"),
        ("lineage s3://lake/", "error: no dataset 's3://lake/' in the store"),
    ],
)
def test_what_is_not_there_is_said(ask: Ask, words: str, said: str) -> None:
    done = ask(words, *EVENTS)
    assert (done.exit_code, done.stderr.strip()) == (1, said)
