"""Whatever happens, and whatever goes wrong on the way: the target ends as the store says, and then rests.

The same examples each time, so that a change is judged by what it changes. Others, and more of them:
SYNC_EXAMPLES=2000 SYNC_STEPS=60 pytest tests/sync/test_convergence.py --timeout=0; with SYNC_SHRINK=0 the
first failure is shown as it was found.
"""

import os
import threading
import time
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from bridge.sync.openmetadata.options import OpenMetadataOptions
from bridge.sync.sync_item import Outcome
from tests import factories as make
from tests.standins.openmetadata import Fault, error, expired_token, failing_rows, html, lost_race, reset, stall
from tests.standins.openmetadata.state import Entity
from tests.sync import model
from tests.sync.backup import Backup
from tests.sync.crashes import Killed
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

EXAMPLES, STEPS = int(os.environ.get("SYNC_EXAMPLES", "60")), int(os.environ.get("SYNC_STEPS", "25"))
PHASES = [phase for phase in Phase if phase is not Phase.shrink or os.environ.get("SYNC_SHRINK", "1") == "1"]
#: What an item may be when nothing is left to do.
SETTLED = {"pushed", "unchanged", "unresolved", "dead", "waiting", "unwanted", "off", "dropped"}
#: How a server calls what became of a run.
WORDS = {"STARTED": "Pending", "SUCCESS": "Successful", "FAILED": "Failed", "CANCELLED": "Skipped"}
#: Answers after which the same may be asked again: absent, passing, contested, or the token's fault.
NOT_FINAL = {401, 404, 408, 409, 412, 425, 429}

_names = st.sampled_from("abcd")
_columns = st.lists(st.sampled_from("kvwx"), unique=True, max_size=3)
_seconds = st.integers(0, 59)
_kinds = st.sampled_from(("START", "RUNNING", "COMPLETE", "COMPLETE", "COMPLETE", "FAIL"))
_lines = st.dictionaries(
    st.sampled_from("kvw"),
    st.lists(
        st.builds(make.field, _names, st.sampled_from("kvw"), st.just(make.transformation())), min_size=1, max_size=2
    ),
    max_size=2,
)


@st.composite
def _datasets(draw: Any, *, lineage: bool) -> list[make.Json]:
    made = []
    for name in draw(st.lists(_names, unique=True, max_size=2)):
        facets = {}
        if columns := draw(_columns):
            facets["schema"] = make.schema(*columns)
        if lineage and draw(st.booleans()):
            facets["columnLineage"] = make.columns(draw(_lines))
        if draw(st.integers(0, 9)) == 0:
            facets["symlinks"] = make.symlinks(draw(_names))
        if draw(st.integers(0, 4)) == 0:
            facets["documentation"] = make.facet(description=draw(st.sampled_from(("<b> = 'x'", "plain"))))
        if lineage and draw(st.integers(0, 2)) == 0:
            # none that fails: of a table that is deleted for good with an open incident the server takes no result any more
            check = {"assertion": "rows", "success": draw(st.booleans()), "severity": "warn"}
            facets["dataQualityAssertions"] = make.facet(assertions=[check])
            facets["output_facets"] = {"dataQualityMetrics": make.facet(rowCount=draw(st.integers(0, 9)))}
        made.append(make.dataset(name, **facets))
    return made


_inputs, _outputs = _datasets(lineage=False), _datasets(lineage=True)
_sql = st.one_of(st.just({}), st.sampled_from("12").map(lambda n: {"sql": make.facet(query=f"SELECT {n}")}))
_faults = st.one_of(
    st.builds(error, st.sampled_from((429, 500, 502, 503, 504, 400, 403, 422, 409, 412)), applied=st.booleans()),
    st.builds(error, st.sampled_from((429, 503)), retry_after=st.sampled_from((0, 1, 90))),
    st.builds(reset, st.booleans()),
    st.builds(html, st.sampled_from((200, 502))),
    st.builds(stall, st.just(0.01)),
    st.just(lost_race()),
    st.just(expired_token()),
    st.just("stall"),
    st.lists(_names, min_size=1, max_size=3, unique=True).map(lambda names: failing_rows(*names)),
)
_routes = st.sampled_from(
    (
        (None, ""), (None, ""), ("PUT", "/bulk"), ("PUT", "/tables/bulk"), ("PUT", "/v1/lineage"), ("DELETE", ""),
        ("GET", "/name/"), ("GET", "/lineage/"), ("PUT", "/services/"), ("PUT", "/v1/database"), ("PATCH", ""),
    )
)  # fmt: skip


class AnyFaults(RuleBasedStateMachine):
    """Events, rounds, time, deaths and faults in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: Synced | None = None
        self.tokens = 0
        self.stalled: list[threading.Event] = []
        self.undisturbed_since = 0
        self.damaged = False
        #: What people wrote into tables, by their ids.
        self.theirs: dict[str, str] = {}
        self.backup: tuple[Backup, dict[str, str]] | None = None

    @initialize(waits=st.booleans(), batch=st.sampled_from((1, 2, 100)))
    def begin(self, waits: bool, batch: int) -> None:
        self.rules = OpenMetadataOptions(LAYOUT, register_on_completion=waits, batch_size=batch)
        self.synced = Synced(self.rules)
        self.synced.compare_seconds = 1e6
        self.synced.__enter__()
        self.person = Person(self.synced.standin)

    def post(self, *events: make.Json) -> None:
        self.synced.apply(*events)
        self.disturb()

    def disturb(self) -> None:
        """What happened before this is no reason any more not to ask again."""
        self.undisturbed_since = len(self.synced.standin.requests)

    @rule(
        kind=_kinds, second=_seconds, run=st.integers(1, 4), job=st.sampled_from(("etl", "load")), inputs=_inputs,
        outputs=_outputs, sql=_sql,
    )  # fmt: skip
    def run(self, kind: str, second: int, run: int, job: str, inputs: Any, outputs: Any, sql: Any) -> None:
        self.post(make.run_event(kind, second, run=run, job=job, inputs=inputs, outputs=outputs, job_facets=sql))

    @rule(
        kind=_kinds, second=_seconds, run=st.integers(11, 14), with_parent=st.booleans(), inputs=_inputs,
        outputs=_outputs, sql=_sql,
    )  # fmt: skip
    def action(
        self, kind: str, second: int, run: int, with_parent: bool, inputs: Any, outputs: Any, sql: Any
    ) -> None:
        """An action of Spark, which may name its application only later."""
        of = {"parent": make.parent(9 + run % 2, f"app{run % 2}")} if with_parent else {}
        self.post(
            make.run_event(
                kind, second, run=run, job=f"app{run % 2}.step{run}", inputs=inputs, outputs=outputs,
                job_facets=sql | {"jobType": make.spark_type()}, run_facets=of,
            )
        )  # fmt: skip

    @rule(kind=_kinds, second=_seconds, run=st.integers(9, 10), with_parent=st.booleans())
    def application(self, kind: str, second: int, run: int, with_parent: bool) -> None:
        """An application of Spark, which may name what started it only later."""
        of = {"parent": make.parent(8, "dag")} if with_parent else {}
        typed = {"jobType": make.spark_type("APPLICATION")}
        self.post(
            make.run_event(kind, second, run=run, job=f"app{run - 9}", job_facets=typed, run_facets=of),
        )

    @rule(second=_seconds, job=st.sampled_from(("etl", "declared")), inputs=_inputs, outputs=_outputs)
    def declare(self, second: int, job: str, inputs: Any, outputs: Any) -> None:
        self.post(make.job_event(second, job=job, inputs=inputs, outputs=outputs))

    @rule(second=_seconds, one=_names, other=_names)
    def fuse(self, second: int, one: str, other: str) -> None:
        self.post(make.dataset_event(second, make.dataset(one, symlinks=make.symlinks(other))))

    @rule()
    def round(self) -> None:
        self.work()

    @rule(seconds=st.sampled_from((1, 30, 700)))
    def wait(self, seconds: int) -> None:
        self.synced.clock.wait(seconds)

    @rule(steps=st.integers(1, 60))
    def die(self, steps: int) -> None:
        """Die within a round: before or after some call, some transaction."""
        self.synced.mortality.die_after(steps)
        self.work()

    @rule()
    def reconnect(self) -> None:
        self.synced.connect()
        self.disturb()

    @rule(fault=_faults, route=_routes, times=st.sampled_from((1, 1, 2, 3, 12)))
    def fail(self, fault: Fault | str, route: tuple[str | None, str], times: int) -> None:
        if fault == "stall":
            self.stalled.append(threading.Event())
            fault, times = stall(until=self.stalled[-1]), 1
        self.synced.standin.faults.next(fault, method=route[0], path=route[1], times=times)

    def choose(self, type_: str, number: int) -> Entity | None:
        """Choose one of the entities that are there, but for those that were removed: whoever changes them keeps them."""
        found = [self.person.find(type_, name) for name in sorted(self.synced.entities(type_))]
        items = self.synced.items
        there = [one for one in found if items.find_by_remote_id(one.id) or not items.find_deletion(one.id)]
        return there[number % len(there)] if there else None

    @precondition(lambda self: not self.synced.standin.faults.pending)
    @rule(number=st.integers(0, 9), type_=st.sampled_from(("table", "pipeline")), hard=st.booleans())
    def delete(self, number: int, type_: str, hard: bool) -> None:
        """Somebody deletes a table or pipeline."""
        if entity := self.choose(type_, number):
            self.person.ask("DELETE", f"{type_}s/{entity.id}?hardDelete={str(hard).lower()}&recursive=true")
            self.theirs.pop(entity.id, None)
            self.damage()

    @precondition(lambda self: not self.synced.standin.faults.pending)
    @rule(number=st.integers(0, 9))
    def drop_columns(self, number: int) -> None:
        """Somebody takes all columns from a table, and what was said of it."""
        if entity := self.choose("table", number):
            self.theirs.pop(entity.id, None)
            self.person.put("table", name=entity.name, databaseSchema="warehouse.d.s", columns=[])
            self.damage()

    @precondition(lambda self: not self.synced.standin.faults.pending)
    @rule(number=st.integers(0, 9))
    def drop_edge(self, number: int) -> None:
        """Somebody deletes an edge."""
        if there := sorted(self.synced.standin.store.edges):
            source, target = (self.synced.standin.store.by_id[id_] for id_ in there[number % len(there)])
            ends = f"{source.kind.name}/{source.id}/{target.kind.name}/{target.id}"
            if not (source.deleted or target.deleted):
                self.person.ask("DELETE", f"lineage/{ends}")
                self.damage()

    @precondition(lambda self: not self.synced.standin.faults.pending)
    @rule(number=st.integers(0, 9), said=st.sampled_from(("of theirs", "of somebody")))
    def describe(self, number: int, said: str) -> None:
        """Somebody describes a table."""
        if entity := self.choose("table", number):
            self.person.patch("table", entity.fqn, {"/description": said})
            self.theirs[entity.id] = said
            self.disturb()

    @rule()
    def back_up(self) -> None:
        """Somebody makes a backup of the server."""
        self.backup = Backup(self.synced.standin), dict(self.theirs)

    @precondition(lambda self: self.backup and not self.synced.standin.faults.pending)
    @rule()
    def restore(self) -> None:
        """Somebody restores it, and looks whether all is well, before anything else happens."""
        backup, self.theirs = self.backup[0], dict(self.backup[1])
        backup.restore()
        self.damage()

    @precondition(lambda self: not self.synced.standin.faults.pending)
    @rule(number=st.integers(0, 9), what=st.sampled_from(("status", "case", "result", "profile")))
    def lose(self, number: int, what: str) -> None:
        """Somebody deletes what was told of a moment, or a test case."""
        told = self.synced.standin.store
        kept = {
            "status": lambda: [*told.statuses.values()],
            "case": lambda: [told.checks],
            "result": lambda: [case.results for case in told.checks.cases.values()],
            "profile": lambda: [one.table for one in told.profiles.values()],
        }[what]()
        kept = [one for one in kept if one and (what != "case" or one.cases)]
        if not kept:
            return
        chosen = kept[number % len(kept)]
        if what == "case":
            case = chosen.cases.pop(sorted(chosen.cases)[number % len(chosen.cases)])
            case.suite.cases.remove(case)
        elif what == "profile":
            chosen.pop(number % len(chosen))
        else:
            chosen.pop(sorted(chosen)[number % len(chosen)])
        self.damage()

    def damage(self) -> None:
        self.damaged = True
        self.disturb()

    @precondition(lambda self: self.synced is not None)
    @rule()
    def end_well(self) -> None:
        self.converge()

    def work(self) -> None:
        if self.stalled:
            self.synced.session.patience = 0.05
        try:
            self.synced.round()
        except Killed:
            self.synced.connect()
            self.disturb()
        finally:
            self.go_on()
        self.assert_no_forbidden_retry()

    def go_on(self) -> None:
        """Let what stalls be done, before anything else is asked for."""
        for event in self.stalled:
            event.set()
        deadline = time.monotonic() + 5
        while any(seen.status is None for seen in list(self.synced.standin.requests)):
            assert time.monotonic() < deadline, "a request is never answered"

    def heal(self) -> None:
        self.synced.standin.faults.clear()
        self.go_on()
        self.stalled = []
        self.tokens += 1
        self.synced.standin.renew_bot(f"bot.token.{self.tokens}")
        self.synced.connect()
        self.disturb()

    def converge(self) -> None:
        self.heal()
        for _ in range(3):
            self.synced.converge()
            if self.damaged:
                self.synced.compare()
                self.damaged = False
            dead = self.synced.items_by(Outcome.DEAD)
            if not dead:
                break
            self.synced.queue.retry([(item.kind, item.key) for item in dead])
            self.disturb()
        self.assert_no_forbidden_retry()
        self.assert_converged()
        self.assert_rests()

    def assert_converged(self) -> None:
        found = model.seen(self.synced.standin)
        expected = model.wanted(self.synced.store, waits=self.rules.register_on_completion, there=found.tables)
        for name, of, shall in zip(found._fields, found, expected, strict=True):
            missing = {key: value for key, value in shall.items() if of.get(key) != value}
            wrong = {key: value for key, value in of.items() if shall.get(key) != value}
            assert not missing and not wrong, f"{name}: shall be {missing}, but is {wrong}"  # noqa: PT018
        self.assert_told_once()
        rows = self.synced.store.rows("SELECT kind, outcome, reason FROM sync_item")
        assert {outcome for _, outcome, _ in rows} <= SETTLED
        troubled = [row for row in rows if row[1] in ("dead", "unresolved")]
        assert not troubled
        tables = {table["id"]: table.get("description") for table in self.synced.entities("table").values()}
        assert {id_: tables[id_] for id_ in self.theirs if id_ in tables} == {
            id_: said for id_, said in self.theirs.items() if id_ in tables
        }

    def assert_told_once(self) -> None:
        """Every run is told once, as it went; so is every result of a check of a table that is there."""
        state, store = self.synced.standin.state(), self.synced.store
        living = self.synced.entities("pipeline")  # what was told of others nobody sees
        statuses = [one for name, of in state["statuses"].items() if name in living for one in of]
        told = [(one["executionId"], one["executionStatus"]) for one in statuses]
        assert len({run for run, _ in told}) == len(told)
        for run, job, status in store.rows(
            "SELECT run_uuid, name, status FROM process_run p JOIN ol_job j ON j.job_id = p.process_id"
        ):
            if job in ("etl", "load") and status != "UNKNOWN":
                assert (run, WORDS[status]) in told
        made = store.rows(
            "SELECT d.class_id, count(*) FROM quality_check_result r JOIN quality_check_def q ON q.qdef_id = r.qdef_id JOIN ol_dataset d ON d.dataset_id = q.dataset_id GROUP BY d.class_id"
        )
        names = dict(store.rows("SELECT dataset_id, name FROM ol_dataset"))
        tables = self.synced.entities("table")
        for name, kept in state["profiles"].items():
            assert len({row["timestamp"] for row in kept["table"]}) == len(kept["table"]), name
        wanted = {f"warehouse.d.s.{names[class_id]}.rows": count for class_id, count in made}
        for case, count in wanted.items():
            if case.removesuffix(".rows") in tables:
                assert len(state["results"].get(case, ())) == count

    def assert_rests(self) -> None:
        assert self.synced.quiet() == {}
        self.synced.connect()
        assert self.synced.quiet() == {}

    def assert_no_forbidden_retry(self) -> None:
        refused: set[tuple[object, ...]] = set()
        for seen in self.synced.standin.requests[self.undisturbed_since :]:
            asked = (seen.method, seen.path, seen.query, seen.body)
            if seen.method == "PUT" and seen.path.startswith("/api/v1/pipelines") and "/status" not in seen.path:
                # a status may name a task that the pipeline has again
                refused = {one for one in refused if "/status" not in str(one[1])}
            assert asked not in refused, f"asked again after it was refused: {asked}"
            if 400 <= (seen.status or 0) < 500 and seen.status not in NOT_FINAL:
                refused.add(asked)

    def teardown(self) -> None:
        if self.synced is None:
            return
        try:
            self.converge()
        finally:
            for event in self.stalled:
                event.set()
            self.synced.__exit__()


AnyFaults.TestCase.settings = settings(
    max_examples=EXAMPLES,
    derandomize="SYNC_EXAMPLES" not in os.environ,
    stateful_step_count=STEPS,
    deadline=None,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
)
TestAnyFaults = AnyFaults.TestCase
