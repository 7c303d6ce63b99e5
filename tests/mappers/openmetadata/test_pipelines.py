"""Locations of jobs, and the pipelines created for them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.http import HttpSession
from connectors.openmetadata.client import OpenMetadataClient as Client
from connectors.session import StaticToken
from mappers.openmetadata.fqn import EntityName, entity_name
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, ServiceRef
from mappers.openmetadata.pipelines import (
    PipelineContent,
    PipelineLocation,
    PipelineTask,
    locate_job,
    pipeline_requests,
    schedule_interval,
)
from tests.fuzz.hostile_names import HOSTILE
from tests.standins.openmetadata import OpenMetadata

ALL_DAYS = {"active": True, "days_of_week": ["all"]}
MAPPED = ServiceLayout((ServiceMapping("prod", "etl"), ServiceMapping("prod-*", "etl.two")), service="ours")


@pytest.mark.parametrize(
    ("namespace", "integration", "type_", "service", "name"),
    [
        ("prod", "SPARK", "Spark", "etl", EntityName("daily.load")),
        ("prod", "spark", "Spark", "etl", EntityName("daily.load")),
        ("prod", "AIRFLOW", "Airflow", "etl", EntityName("daily.load")),
        ("prod", "DBT", "DBTCloud", "etl", EntityName("daily.load")),
        ("prod", "FLINK", "Flink", "etl", EntityName("daily.load")),
        ("prod", "HOMEMADE", "CustomPipeline", "etl", EntityName("daily.load")),
        ("prod", None, "CustomPipeline", "etl", EntityName("daily.load")),
        ("prod-eu", "SPARK", "Spark", "etl.two", EntityName("daily.load")),
        ("test", "SPARK", "CustomPipeline", "ours", EntityName("test/daily.load", "daily.load")),
    ],
)
def test_job_is_in_its_mapped_or_the_default_service(
    namespace: str, integration: str | None, type_: str, service: str, name: EntityName
) -> None:
    location = locate_job(MAPPED, namespace, "daily.load", integration)
    assert location == PipelineLocation(ServiceRef("pipelineService", type_, service), name)


@pytest.mark.parametrize(
    ("location", "fqn"),
    [
        (locate_job(MAPPED, "prod", "daily.load", None), 'etl."daily.load"'),
        (locate_job(MAPPED, "prod-eu", "load", None), '"etl.two".load'),
        (locate_job(MAPPED, "spark://h:1", "load", None), "ours.spark://h:1/load"),
    ],
)
def test_location_has_a_fully_qualified_name(location: PipelineLocation, fqn: str) -> None:
    assert location.fqn == fqn


def test_invalid_names_are_replaced_and_displayed() -> None:
    assert locate_job(MAPPED, "prod", "a::b", None).name == entity_name("a::b")
    assert locate_job(ServiceLayout(), "ns", "a::b", None).name == EntityName(entity_name("ns/a::b").name, "a::b")


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ((), None),
        ((PipelineTask("b"), PipelineTask("a", "select 1", (), "SPARK")), [{"name": "b"}, {"name": "a", "taskType": "SPARK", "taskSQL": "select 1"}]),
        ((PipelineTask("a", None, ("c", "b", "gone", "b")), PipelineTask("b"), PipelineTask("c")), [{"name": "a", "downstreamTasks": ["b", "c"]}, {"name": "b"}, {"name": "c"}]),
        ((PipelineTask("a", "first"), PipelineTask("a", "second")), [{"name": "a", "taskSQL": "first"}]),
        (
            (PipelineTask("a::b", None, ("c",)), PipelineTask("c", None, ("a::b",))),
            [
                {"name": entity_name("a::b").name, "displayName": "a::b", "downstreamTasks": ["c"]},
                {"name": "c", "downstreamTasks": [entity_name("a::b").name]},
            ],
        ),
        ((PipelineTask("a::b", "theirs"), PipelineTask(entity_name("a::b").name, "mine")), [{"name": entity_name("a::b").name, "displayName": "a::b", "taskSQL": "theirs"}]),
    ],
)  # fmt: skip
def test_tasks_keep_their_order_and_list_downstream_tasks(
    tasks: tuple[PipelineTask, ...], expected: list[dict[str, Any]] | None
) -> None:
    _, pipeline = pipeline_requests(locate_job(MAPPED, "prod", "j", None), PipelineContent("j", tasks=tasks))
    assert pipeline.body.get("tasks") == expected


def test_pipeline_contains_only_known_members() -> None:
    location = locate_job(MAPPED, "prod-eu", "j", "SPARK")
    service, minimal = pipeline_requests(location, PipelineContent("j"))
    assert service == ("services/pipelineServices", '"etl.two"', {"name": "etl.two", "serviceType": "Spark"})
    assert minimal == ("pipelines", '"etl.two".j', {"name": "j", "service": '"etl.two"'})
    body = pipeline_requests(location, PipelineContent("j", "a<b", "https://git/x?a=b"))[1].body
    assert body == {**minimal.body, "description": "a&lt;b", "sourceUrl": "https://git/x?a=b"}


@given(st.lists(st.builds(PipelineTask, st.text(max_size=4), st.none(), st.tuples(st.text(max_size=4))), max_size=8))
def test_order_of_tasks_changes_only_their_order(tasks: list[PipelineTask]) -> None:
    def build(tasks: list[PipelineTask]) -> Any:
        _, pipeline = pipeline_requests(
            locate_job(MAPPED, "prod", "j", None), PipelineContent("j", tasks=tuple(tasks))
        )
        return sorted(pipeline.body.get("tasks", ()), key=lambda task: task["name"])

    distinct_tasks = list({task.name: task for task in tasks}.values())
    assert build(distinct_tasks) == build(distinct_tasks[::-1])
    names = [task["name"] for task in build(tasks)]
    assert names == [*dict.fromkeys(names)]


def test_every_job_can_be_created() -> None:
    with OpenMetadata() as standin:
        client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
        for layout in (ServiceLayout(), ServiceLayout((ServiceMapping("ns", "mapped"),))):
            for name in HOSTILE.values():
                job = PipelineContent(
                    name, name, "https://git/x", (PipelineTask(name, name, ("end",)), PipelineTask("end"))
                )
                for request in pipeline_requests(locate_job(layout, "ns", name, "SPARK"), job):
                    client.put(request.collection, request.body)
                pipeline = client.get(request.collection, request.fqn, "tasks")
                assert pipeline is not None
                assert [task["name"] for task in pipeline["tasks"]] == [
                    task["name"] for task in request.body["tasks"]
                ]
                assert not client.put(request.collection, request.body).changed
        client.close()
        assert standin.invalid_bodies == []


@pytest.mark.parametrize(
    ("schedule", "interval"),
    [
        (ALL_DAYS | {"start_times": ["01:00"]}, "0 1 * * *"),
        (ALL_DAYS | {"start_times": ["13:05", "01:05"]}, "5 1,13 * * *"),
        (ALL_DAYS | {"start_mins": ["30", "0"]}, "0,30 * * * *"),
        ({"active": True, "days_of_week": ["su", "mo"], "start_times": ["00:00"]}, "0 0 * * 0,1"),
        (ALL_DAYS | {"start_times": ["01:00"], "must_start_times": ["01:10"]}, "0 1 * * *"),
        (ALL_DAYS | {"start_times": ["01:00", "02:30"]}, "days_of_week: all; start_times: 01:00, 02:30"),
        (
            {"active": True, "run_calendar": "WORKDAYS", "start_times": ["01:00"]},
            "run_calendar: WORKDAYS; start_times: 01:00",
        ),
        (
            ALL_DAYS | {"start_times": ["01:00"], "timezone": "UTC"},
            "days_of_week: all; start_times: 01:00; timezone: UTC",
        ),
        (ALL_DAYS | {"active": False, "start_times": ["01:00"]}, None),
        ({"active": True, "days_of_week": "odd", "start_times": 5}, "days_of_week: odd; start_times: 5"),
        (ALL_DAYS | {"start_times": 5}, "days_of_week: all; start_times: 5"),
        (ALL_DAYS | {"start_times": ["at night"]}, "days_of_week: all; start_times: at night"),
        ({"active": True}, None),
    ],
)
def test_schedule_is_a_cron_expression_or_text(schedule: dict[str, Any], interval: str | None) -> None:
    assert schedule_interval(schedule) == interval
