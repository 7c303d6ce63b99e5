"""Jobs whose events are stored, but not merged."""

import msgspec
import pytest

from mappers.openlineage.event import parse_event
from mappers.openlineage.event_mapper import map_event
from mappers.openlineage.row_builder import MappingOptions
from tests.factories import dataset, dataset_event, job_event, run_event


@pytest.mark.parametrize(
    ("name", "is_ignored"),
    [
        ("lineage_bridge_check", True),
        ("lineage_bridge_check.execute_insert", True),
        ("lineage_bridge_checks", False),
        ("load", False),
    ],
)
def test_events_of_spark_check_have_no_rows(name: str, is_ignored: bool) -> None:
    for event in (run_event(job=name, outputs=[dataset("t")]), job_event(job=name, outputs=[dataset("t")])):
        mapped = map_event(parse_event(msgspec.json.encode(event)), MappingOptions())
        assert (mapped.rows == []) is is_ignored
        assert any("intake.ignored_jobs" in note for note in mapped.notes) is is_ignored


def test_no_job_is_ignored_without_patterns() -> None:
    event = parse_event(msgspec.json.encode(run_event(job="lineage_bridge_check")))
    assert map_event(event, MappingOptions(ignored_jobs=())).rows


def test_dataset_events_are_never_ignored() -> None:
    event = parse_event(msgspec.json.encode(dataset_event(1, dataset("lineage_bridge_check"))))
    assert map_event(event, MappingOptions()).rows
