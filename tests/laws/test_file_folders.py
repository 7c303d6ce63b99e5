"""A file belongs to the deepest folder that the same application uses, or that any job writes, in any order."""

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.store.symlink_graph import LinkRules
from bridge.store.writer import Writer
from tests.factories import Json, dataset, facet, parent, run_event, spark_type
from tests.stores import Store, empty_postgres

PATHS = ("/in", "/in/day", "/in/day/a.csv", "/in/part-00001.json", "/other/c.csv")
FILES = {name: [path for path in PATHS if name.startswith(path + "/")] for name in PATHS[2:]}
ALL_GROUPS = "SELECT d.name, h.name FROM ol_dataset d JOIN ol_dataset h ON h.dataset_id = d.class_id"


def files(*names: str) -> list[Json]:
    return [dataset(name, "file") for name in names]


def spark(run: int, *, reads: str = "", writes: str = "", application: int = 1, job: str = "step") -> Json:
    """An event of an action of a Spark application; the names are separated by spaces."""
    return run_event(
        "COMPLETE", run, run=run, job=f"app{application}.{job}",
        inputs=files(*reads.split()), outputs=files(*writes.split()),
        job_facets={"jobType": spark_type()}, run_facets={"parent": parent(100 + application, f"app{application}")},
    )  # fmt: skip


def legacy(run: int, *, reads: str = "", writes: str = "", job: str = "cp") -> Json:
    return run_event("COMPLETE", run, run=run, job=job, inputs=files(*reads.split()), outputs=files(*writes.split()))


def folded(store: Store) -> dict[str, str]:
    return {name: group for name, group in store.rows(ALL_GROUPS) if name != group}


CASES: dict[str, tuple[list[Json], dict[str, str]]] = {
    "stream that names its folder": (
        [spark(1, reads="/in/day/a.csv"), spark(2, reads="/in/day", writes="/out", job="batch")],
        {"/in/day/a.csv": "/in/day"},
    ),
    "deepest folder": (
        [spark(1, reads="/in/day/a.csv"), spark(2, reads="/in"), spark(3, reads="/in/day")],
        {"/in/day/a.csv": "/in/day"},
    ),
    "folder of another application": ([spark(1, reads="/in/day/a.csv"), spark(2, reads="/in", application=2)], {}),
    "folder that another application writes": ([spark(1, reads="/in/a.csv"), spark(2, writes="/in", application=2)], {}),
    "folder that any job writes": ([legacy(1, reads="/in/a.csv"), spark(2, writes="/in")], {"/in/a.csv": "/in"}),
    "folder that is only read": ([legacy(1, reads="/in/a.csv"), spark(2, reads="/in")], {}),
    "file that a job writes itself": (
        [legacy(1, reads="/in/a.csv"), spark(2, writes="/in"), legacy(3, writes="/in/a.csv", job="get")],
        {},
    ),
    "folder below another folder": ([spark(1, reads="/in /in/day")], {}),
    "folder that looks like a file": (
        [spark(1, writes="/in/a.csv"), spark(2, reads="/in/a.csv/part-1.csv /in")],
        {"/in/a.csv/part-1.csv": "/in", "/in/a.csv": "/in"},
    ),
    "file with another name": (
        [
            spark(1, reads="/in/a.csv /in"),
            run_event("COMPLETE", 2, run=2, outputs=[dataset(
                "/in/a.csv", "file", symlinks=facet(identifiers=[{"namespace": "db", "name": "t", "type": "TABLE"}]))]),
        ],
        {"/in/a.csv": "t"},
    ),
    "folder with another name": (
        [
            spark(1, reads="/in/a.csv /in"),
            run_event("COMPLETE", 2, run=2, outputs=[dataset(
                "/in", "file", symlinks=facet(identifiers=[{"namespace": "db", "name": "t", "type": "TABLE"}]))]),
        ],
        {"/in/a.csv": "t", "/in": "t"},
    ),
    "late parent": (
        [
            run_event("COMPLETE", 1, run=1, job="x", inputs=files("/in/a.csv"), job_facets={"jobType": spark_type()}),
            spark(2, reads="/in"),
            run_event("OTHER", 3, run=1, job="x", run_facets={"parent": parent(101, "app1")}),
        ],
        {"/in/a.csv": "/in"},
    ),
    "late type": (
        [
            run_event("COMPLETE", 1, run=1, job="x", inputs=files("/in/a.csv"),
                      run_facets={"parent": parent(101, "app1")}),
            spark(2, reads="/in"),
            run_event("OTHER", 3, run=1, job="x", job_facets={"jobType": spark_type()}),
        ],
        {"/in/a.csv": "/in"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("together", [False, True], ids=["one by one", "together"])
@pytest.mark.parametrize(("events", "expected"), CASES.values(), ids=CASES)
def test_files_are_folded(events: list[Json], expected: dict[str, str], together: bool) -> None:
    for order in itertools.permutations(events):
        with Store() as store:
            if together:
                store.apply(*order)
            else:
                store.apply_each(*order)
            assert folded(store) == expected


#: An application or, if negative, a legacy job; and what it reads and writes.
uses = st.lists(
    st.tuples(st.sampled_from((1, 2, -1, -2)), st.sampled_from(PATHS), st.booleans()), min_size=1, max_size=8
)


def expected_folders(reported: list[tuple[int, str, bool]]) -> dict[str, str]:
    """Compute the folders from the definition."""
    users = {path: {user for user, used, _ in reported if used == path} for path in PATHS}
    written = {path for _, path, writes in reported if writes}
    result = {}
    for file, folders in FILES.items():
        is_legacy_input = file not in written and any(user < 0 for user in users[file])
        for folder in folders:
            if users[file] & users[folder] or (is_legacy_input and folder in written):
                result[file] = folder
    return result


@given(uses, st.sampled_from([1, 2, 8]), st.randoms(use_true_random=False))
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.system("postgres"))])
def test_folders_depend_only_on_the_events(
    kind: str, reported: list[tuple[int, str, bool]], group_size: int, random: Random
) -> None:
    events = []
    for number, (user, path, writes) in enumerate(reported, 1):
        direction = {"writes" if writes else "reads": path}
        if user > 0:
            events.append(spark(number, application=user, job=f"step{number}", **direction))
        else:
            events.append(legacy(number, job=f"cp{user}", **direction))
    random.shuffle(events)
    with Store(db=empty_postgres() if kind == "postgres" else None) as store:
        for start in range(0, len(events), group_size):
            store.apply(*events[start : start + group_size])
        assert folded(store) == expected_folders(reported)


def test_lineage_passes_through_the_folder() -> None:
    with Store() as store:
        store.apply_each(
            spark(1, writes="/lake/positions"),
            legacy(2, reads="/lake/positions/part.csv", writes="/landing/report.csv"),
        )
        assert store.upstream("/landing/report.csv", namespace="file") == {("/lake/positions", "cp", "", "inferred")}


def test_setting_applies_to_an_existing_store() -> None:
    with Store() as store:
        store.apply(spark(1, reads="/in/a.csv /in"))
        Writer(store.db, link_rules=LinkRules(fold_files=False))
        assert folded(store) == {}
        Writer(store.db)
        assert folded(store) == {"/in/a.csv": "/in"}
