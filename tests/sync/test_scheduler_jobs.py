"""Jobs of a scheduler as pipelines: boxes with their jobs as tasks, schedules and owners."""

import json
from typing import Any

from bridge.sync.openmetadata.context import OpenMetadataOptions
from mappers.legacy.jil.job_catalog import JobCatalog
from mappers.legacy.jil.job_events import ScanOptions, build_job_events, build_retirement_event
from mappers.legacy.jil.parser import parse_jil
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping
from tests.factories import facet, job_event
from tests.sync.openmetadata_harness import OpenMetadataHarness
from tests.sync.other_writers import Person

Json = dict[str, Any]
OPTIONS = OpenMetadataOptions(
    ServiceLayout((ServiceMapping("autosys://PRD", "autosys"), ServiceMapping("jobs", "runs")))
)
NIGHTLY = """
insert_job: NIGHTLY   job_type: BOX
date_conditions: 1
days_of_week: mo, fr
start_times: "01:30, 13:30"

insert_job: REPORT   job_type: CMD
box_name: NIGHTLY
condition: s(ENRICH) and s(OTHER)
command: report.sh

insert_job: LOAD   job_type: CMD
box_name: NIGHTLY
description: "Loads the trades"
command: load.sh

insert_job: ENRICH   job_type: CMD
box_name: NIGHTLY
condition: s(LOAD)
command: enrich.sh
"""


def definitions(jil: str, second: int = 0) -> list[bytes]:
    catalog = JobCatalog()
    catalog.apply(parse_jil(jil, "nightly.jil").statements)
    return list(build_job_events(catalog, ScanOptions("PRD", f"2026-01-01T00:00:{second:02}Z")))


def pipeline(synced: OpenMetadataHarness, name: str = "autosys.NIGHTLY") -> Json:
    found: Json = synced.entities("pipeline")[name]
    return found


def tasks(synced: OpenMetadataHarness) -> list[tuple[str, list[str]]]:
    return [(task["name"], task.get("downstreamTasks", [])) for task in pipeline(synced)["tasks"]]


def test_box_has_its_jobs_as_tasks_in_the_order_of_their_conditions() -> None:
    with OpenMetadataHarness(OPTIONS) as synced:
        synced.apply(*definitions(NIGHTLY)).converge()
        assert tasks(synced) == [("LOAD", ["ENRICH"]), ("ENRICH", ["REPORT"]), ("REPORT", [])]
        [load, *_] = pipeline(synced)["tasks"]
        assert (load["taskType"], load["description"]) == ("CMD", "Loads the trades")
        assert set(synced.entities("pipeline")) == {
            f"autosys.{n}" for n in ("NIGHTLY", "LOAD", "ENRICH", "REPORT", "OTHER")
        }
        assert synced.calls_of_next_round() == {}


def test_schedule_of_a_job_is_a_cron_expression() -> None:
    with OpenMetadataHarness(OPTIONS) as synced:
        synced.apply(*definitions(NIGHTLY)).converge()
        assert pipeline(synced)["scheduleInterval"] == "30 1,13 * * 1,5"
        assert "scheduleInterval" not in pipeline(synced, "autosys.LOAD")


def test_box_follows_its_jobs() -> None:
    with OpenMetadataHarness(OPTIONS) as synced:
        synced.apply(*definitions(NIGHTLY)).converge()
        moved = NIGHTLY.replace(
            "insert_job: REPORT   job_type: CMD\nbox_name: NIGHTLY", "insert_job: REPORT   job_type: CMD"
        )
        moved = moved.replace("condition: s(LOAD)\n", "")
        synced.apply(*definitions(moved, 5)).converge()
        assert tasks(synced) == [("ENRICH", []), ("LOAD", [])]
        synced.apply(build_retirement_event("LOAD", ScanOptions("PRD", "2026-01-01T00:00:09Z"))).converge()
        assert tasks(synced) == [("ENRICH", [])]


def owned(second: float, owner: str) -> Json:
    return job_event(second, job="etl", ownership=facet(owners=[{"name": owner, "type": "TEAM"}]))


def owners(synced: OpenMetadataHarness) -> list[str]:
    return [owner["name"] for owner in pipeline(synced, "runs.etl").get("owners", ())]


def test_pipeline_has_the_owners_of_its_job() -> None:
    with OpenMetadataHarness(OPTIONS) as synced:
        person = Person(synced.standin)
        for team in ("data", "finance", "risk"):
            person.request("PUT", "teams", {"name": team, "teamType": "Group"})
        synced.apply(owned(0, "data")).converge()
        assert owners(synced) == ["data"]
        synced.apply(owned(1, "finance")).converge()
        assert owners(synced) == ["finance"]
        risk = person.find("team", "risk")
        person.patch("pipeline", "runs.etl", {"/owners": [{"id": risk.id, "type": "team"}]})
        synced.apply(owned(2, "data")).converge()
        assert owners(synced) == ["risk"]
        assert synced.calls_of_next_round() == {}


def test_unknown_owner_of_a_job_is_reported() -> None:
    with OpenMetadataHarness(OPTIONS) as synced:
        synced.apply(owned(0, "ghosts")).converge()
        assert owners(synced) == []
        assert "no team or user ghosts" in json.dumps([item.reason for item in synced.items_by_kind("job")])
