"""What `doctor` says of the way into OpenMetadata: of each thing that stands in the way a line, with a remedy."""

from collections.abc import Callable, Iterator

import pytest

from bridge.doctor import sync
from bridge.doctor.finding import Finding, Level
from bridge.settings.openmetadata import OpenMetadataSettings
from bridge.settings.target_names import TargetName
from bridge.sync.openmetadata.options import OpenMetadataOptions
from tests.factories import dataset, run_event
from tests.standins.openmetadata import error, failing_rows
from tests.sync.openmetadata_harness import LAYOUT, Synced
from tests.sync.other_writers import Person

HOUR = 3_600.0


def settings(*, enabled: bool = True, frequency: str = "hourly") -> OpenMetadataSettings:
    given = {"server": {"host": "http://om"}, "auth": {"jwt_token": "t"}, "sync": {"sync_frequency": frequency}}
    return OpenMetadataSettings.model_validate({"enabled": enabled, **given})


@pytest.fixture
def synced() -> Iterator[Synced]:
    """One that was brought to what the store says, was compared since, and is being worked on."""
    made = Synced()
    made.compare_seconds = HOUR
    with made:
        made.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t")])).converge()
        made.compare()
        at_work(made)
        yield made


def at_work(synced: Synced) -> None:
    with synced.store.db.transaction():
        synced.items.worker.renew()


def findings(synced: Synced, given: OpenMetadataSettings) -> list[Finding]:
    return list(
        sync.check(synced.store.db, "default", TargetName.openmetadata, given, lambda: synced.clock() / 1_000_000)
    )


def warnings(synced: Synced, given: OpenMetadataSettings | None = None) -> list[str]:
    told = findings(synced, given or settings())
    assert {one.subject for one in told} == {"sync"}
    assert all((one.level is Level.ok) == (one.remedy is None) for one in told)
    return [one.message for one in told if one.level is not Level.ok]


def test_one_that_is_well_is_told_so(synced: Synced) -> None:
    *others, read = map(str, findings(synced, settings()))
    assert others == [
        "ok: sync: 1 workers sync OpenMetadata",
        "ok: sync: no changes for OpenMetadata are pending",
        "ok: sync: OpenMetadata rejected nothing",
    ]
    assert read.startswith(
        "ok: sync: last comparison with OpenMetadata: in sync dataset 2 of 2, job 1 of 1, lineage 1 of 1"
    )


def nobody_works(synced: Synced) -> None:
    synced.clock.wait(31)


def target_is_away(synced: Synced) -> None:
    synced.standin.faults.plan = lambda *_: error(503, "Starting")
    synced.apply(run_event(run=3, outputs=[dataset("new")]))
    synced.round()
    synced.clock.wait(300)
    at_work(synced)


def something_waits(synced: Synced) -> None:
    synced.apply(run_event(run=3, outputs=[dataset("new")]))
    synced.standin.faults.plan = lambda _, method, __: error(429) if method == "PUT" else None
    synced.round()
    synced.clock.wait(16 * 60)
    at_work(synced)


def something_is_refused(synced: Synced) -> None:
    synced.standin.faults.next(failing_rows("new"), path="/tables/bulk")
    synced.apply(run_event(run=3, outputs=[dataset("new")])).converge()
    at_work(synced)


def something_has_no_place(synced: Synced) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, create="nothing"))
    synced.apply(run_event(run=3, outputs=[dataset("new")])).converge()
    at_work(synced)


def nobody_compares(synced: Synced) -> None:
    synced.clock.wait(3 * HOUR)
    at_work(synced)


def something_was_missing(synced: Synced) -> None:
    person = Person(synced.standin)
    person.ask("DELETE", f"tables/{person.find('table', 'warehouse.d.s.t').id}?hardDelete=true")
    synced.compare()
    at_work(synced)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (nobody_works, "no worker syncs OpenMetadata"),
        (target_is_away, "OpenMetadata has not responded for 5 min: "),
        (something_waits, " the oldest for 16 min; 2 failed"),
        (something_is_refused, "OpenMetadata rejected 1 items"),
        (something_has_no_place, "1 items cannot be resolved to one entity in OpenMetadata"),
        (nobody_compares, "the comparison with OpenMetadata ended 3 h ago; sync_frequency is hourly"),
        (
            something_was_missing,
            "last comparison with OpenMetadata: in sync dataset 1 of 2, job 1 of 1, lineage 1 of 1",
        ),
    ],
)
def test_what_is_wrong_is_told_with_a_remedy(synced: Synced, trouble: Callable[[Synced], None], said: str) -> None:
    trouble(synced)
    (found,) = warnings(synced)
    assert said in found


def test_one_that_never_began_is_no_trouble_unless_it_should_have() -> None:
    synced = Synced()
    with synced.store, synced.standin:
        assert warnings(synced, settings(enabled=False)) == []
        assert warnings(synced) == ["openmetadata.enabled is true, but nothing has been sent"]


@pytest.mark.parametrize(
    ("frequency", "hours", "said"),
    [
        ("hourly", 1.5, []),
        ("hourly", 3, ["the comparison with OpenMetadata has never completed; sync_frequency is hourly"]),
        ("daily", 3, []),
        ("never", 999, []),
    ],
)
def test_a_first_comparison_is_missed_after_two_periods(frequency: str, hours: float, said: list[str]) -> None:
    with Synced() as synced:
        synced.clock.wait(hours * HOUR)
        at_work(synced)
        assert warnings(synced, settings(frequency=frequency)) == said


def test_without_the_settings_of_the_service_it_is_not_said_when_a_comparison_is_late(synced: Synced) -> None:
    nobody_compares(synced)
    assert warnings(synced, settings(enabled=False)) == []
