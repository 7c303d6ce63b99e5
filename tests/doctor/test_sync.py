"""Checks of the sync to OpenMetadata: one warning per problem, with a remedy."""

from collections.abc import Callable, Iterator

import pytest

from bridge.doctor import sync
from bridge.doctor.finding import Finding, Level
from bridge.settings.openmetadata import OpenMetadataSettings
from bridge.settings.target_names import TargetName
from bridge.sync.openmetadata.context import OpenMetadataOptions
from tests.factories import dataset, run_event
from tests.standins.openmetadata import error, failing_rows
from tests.sync.openmetadata_harness import LAYOUT, OpenMetadataHarness
from tests.sync.other_writers import Person

HOUR = 3_600.0


def settings(*, enabled: bool = True, frequency: str = "hourly") -> OpenMetadataSettings:
    values = {"server": {"host": "http://om"}, "auth": {"jwt_token": "t"}, "sync": {"sync_frequency": frequency}}
    return OpenMetadataSettings.model_validate({"enabled": enabled, **values})


@pytest.fixture
def synced() -> Iterator[OpenMetadataHarness]:
    """A target in sync, recently compared, with an active worker."""
    harness = OpenMetadataHarness()
    harness.compare_seconds = HOUR
    with harness:
        harness.apply(run_event(inputs=[dataset("a")], outputs=[dataset("t")])).converge()
        harness.compare()
        renew_worker(harness)
        yield harness


def renew_worker(synced: OpenMetadataHarness) -> None:
    with synced.store.db.transaction():
        synced.items.worker.renew()


def findings(synced: OpenMetadataHarness, target_settings: OpenMetadataSettings) -> list[Finding]:
    return list(
        sync.check(
            synced.store.db, "default", TargetName.openmetadata, target_settings, lambda: synced.clock() / 1_000_000
        )
    )


def warnings(synced: OpenMetadataHarness, target_settings: OpenMetadataSettings | None = None) -> list[str]:
    all_findings = findings(synced, target_settings or settings())
    assert {finding.subject for finding in all_findings} == {"sync"}
    assert all((finding.level is Level.ok) == (finding.remedy is None) for finding in all_findings)
    return [finding.message for finding in all_findings if finding.level is not Level.ok]


def test_synced_target_has_no_warnings(synced: OpenMetadataHarness) -> None:
    *checks, comparison = map(str, findings(synced, settings()))
    assert checks == [
        "ok: sync: OpenMetadata is synced by 1 worker",
        "ok: sync: no changes for OpenMetadata are pending",
        "ok: sync: OpenMetadata rejected nothing",
    ]
    assert comparison.startswith(
        "ok: sync: last comparison with OpenMetadata: in sync dataset 2 of 2, job 1 of 1, lineage 1 of 1"
    )


def stop_workers(synced: OpenMetadataHarness) -> None:
    synced.clock.wait(31)


def make_target_unavailable(synced: OpenMetadataHarness) -> None:
    synced.standin.faults.plan = lambda *_: error(503, "Starting")
    synced.apply(run_event(run=3, outputs=[dataset("new")]))
    synced.round()
    synced.clock.wait(300)
    renew_worker(synced)


def delay_items(synced: OpenMetadataHarness) -> None:
    synced.apply(run_event(run=3, outputs=[dataset("new")]))
    synced.standin.faults.plan = lambda _, method, __: error(429) if method == "PUT" else None
    synced.round()
    synced.clock.wait(16 * 60)
    renew_worker(synced)


def reject_item(synced: OpenMetadataHarness) -> None:
    synced.standin.faults.next(failing_rows("new"), path="/tables/bulk")
    synced.apply(run_event(run=3, outputs=[dataset("new")])).converge()
    renew_worker(synced)


def leave_item_unresolved(synced: OpenMetadataHarness) -> None:
    synced.connect(OpenMetadataOptions(LAYOUT, create="nothing"))
    synced.apply(run_event(run=3, outputs=[dataset("new")])).converge()
    renew_worker(synced)


def skip_comparisons(synced: OpenMetadataHarness) -> None:
    synced.clock.wait(3 * HOUR)
    renew_worker(synced)


def delete_remote_table(synced: OpenMetadataHarness) -> None:
    person = Person(synced.standin)
    person.request("DELETE", f"tables/{person.find('table', 'warehouse.d.s.t').id}?hardDelete=true")
    synced.compare()
    renew_worker(synced)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (stop_workers, "no worker syncs OpenMetadata"),
        (make_target_unavailable, "OpenMetadata has not responded for 5 min: "),
        (delay_items, " the oldest for 16 min; 2 failed"),
        (reject_item, "OpenMetadata rejected 1 item"),
        (leave_item_unresolved, "1 item cannot be resolved to one entity in OpenMetadata"),
        (skip_comparisons, "the comparison with OpenMetadata ended 3 h ago; sync_frequency is hourly"),
        (
            delete_remote_table,
            "last comparison with OpenMetadata: in sync dataset 1 of 2, job 1 of 1, lineage 1 of 1",
        ),
    ],
)
def test_problems_are_warnings(
    synced: OpenMetadataHarness, cause: Callable[[OpenMetadataHarness], None], message: str
) -> None:
    cause(synced)
    (warning,) = warnings(synced)
    assert message in warning


def test_target_that_never_synced_is_a_warning_if_enabled() -> None:
    synced = OpenMetadataHarness()
    with synced.store, synced.standin:
        assert warnings(synced, settings(enabled=False)) == []
        assert warnings(synced) == ["openmetadata.enabled is true, but nothing has been sent"]


@pytest.mark.parametrize(
    ("frequency", "hours", "expected"),
    [
        ("hourly", 1.5, []),
        ("hourly", 3, ["the comparison with OpenMetadata has never completed; sync_frequency is hourly"]),
        ("daily", 3, []),
        ("never", 999, []),
    ],
)
def test_missing_first_comparison_is_a_warning_after_two_periods(
    frequency: str, hours: float, expected: list[str]
) -> None:
    with OpenMetadataHarness() as synced:
        synced.clock.wait(hours * HOUR)
        renew_worker(synced)
        assert warnings(synced, settings(frequency=frequency)) == expected


def test_late_comparison_is_ignored_if_target_is_disabled(synced: OpenMetadataHarness) -> None:
    skip_comparisons(synced)
    assert warnings(synced, settings(enabled=False)) == []
