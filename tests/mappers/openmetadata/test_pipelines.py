"""Where jobs lie in OpenMetadata, and the pipelines that are made of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.http import HttpSession
from connectors.openmetadata.auth import StaticToken
from connectors.openmetadata.client import OpenMetadataClient as Client
from mappers.openmetadata.fqn import EntityName, entity_name
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, ServiceRef
from mappers.openmetadata.pipelines import (
    PipelineContent,
    PipelineLocation,
    PipelineTask,
    locate_job,
    pipeline_requests,
)
from tests.fuzz.hostile_names import HOSTILE
from tests.standins.openmetadata import OpenMetadata

MAPPED = ServiceLayout((ServiceMapping("prod", "etl"), ServiceMapping("prod-*", "etl.two")), service="ours")


@pytest.mark.parametrize(
    ("namespace", "integration", "type_", "service", "own"),
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
def test_a_job_lies_in_the_service_of_its_namespace_or_in_ours(
    namespace: str, integration: str | None, type_: str, service: str, own: EntityName
) -> None:
    found = locate_job(MAPPED, namespace, "daily.load", integration)
    assert found == PipelineLocation(ServiceRef("pipelineService", type_, service), own)


@pytest.mark.parametrize(
    ("place", "fqn"),
    [
        (locate_job(MAPPED, "prod", "daily.load", None), 'etl."daily.load"'),
        (locate_job(MAPPED, "prod-eu", "load", None), '"etl.two".load'),
        (locate_job(MAPPED, "spark://h:1", "load", None), "ours.spark://h:1/load"),
    ],
)
def test_a_job_has_a_fully_qualified_name(place: PipelineLocation, fqn: str) -> None:
    assert place.fqn == fqn


def test_names_that_no_server_takes_are_replaced_and_shown() -> None:
    assert locate_job(MAPPED, "prod", "a::b", None).name == entity_name("a::b")
    assert locate_job(ServiceLayout(), "ns", "a::b", None).name == EntityName(entity_name("ns/a::b").name, "a::b")


@pytest.mark.parametrize(
    ("tasks", "made"),
    [
        ((), None),
        ((PipelineTask("b"), PipelineTask("a", "select 1")), [{"name": "a", "taskSQL": "select 1"}, {"name": "b"}]),
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
def test_tasks_come_in_order_and_name_those_that_follow(
    tasks: tuple[PipelineTask, ...], made: list[dict[str, Any]] | None
) -> None:
    _, own = pipeline_requests(locate_job(MAPPED, "prod", "j", None), PipelineContent("j", tasks=tasks))
    assert own.body.get("tasks") == made


def test_a_pipeline_says_what_is_known_and_no_more() -> None:
    place = locate_job(MAPPED, "prod-eu", "j", "SPARK")
    service, bare = pipeline_requests(place, PipelineContent("j"))
    assert service == ("services/pipelineServices", '"etl.two"', {"name": "etl.two", "serviceType": "Spark"})
    assert bare == ("pipelines", '"etl.two".j', {"name": "j", "service": '"etl.two"'})
    told = pipeline_requests(place, PipelineContent("j", "a<b", "https://git/x?a=b"))[1].body
    assert told == {**bare.body, "description": "a&lt;b", "sourceUrl": "https://git/x?a=b"}


@given(st.lists(st.builds(PipelineTask, st.text(max_size=4), st.none(), st.tuples(st.text(max_size=4))), max_size=8))
def test_the_order_in_which_tasks_are_told_does_not_matter(tasks: list[PipelineTask]) -> None:
    def made(tasks: list[PipelineTask]) -> Any:
        return pipeline_requests(locate_job(MAPPED, "prod", "j", None), PipelineContent("j", tasks=tuple(tasks)))[1]

    once = list({task.name: task for task in tasks}.values())
    assert made(once) == made(once[::-1])
    names = [task["name"] for task in made(tasks).body.get("tasks", [])]
    assert names == [*dict.fromkeys(names)]


def test_every_job_can_be_made_and_is_found_where_it_should_be() -> None:
    with OpenMetadata() as standin:
        client = Client(HttpSession(standin.url), StaticToken(standin.bot_token))
        for layout in (ServiceLayout(), ServiceLayout((ServiceMapping("ns", "mapped"),))):
            for name in HOSTILE.values():
                job = PipelineContent(
                    name, name, "https://git/x", (PipelineTask(name, name, ("end",)), PipelineTask("end"))
                )
                for request in pipeline_requests(locate_job(layout, "ns", name, "SPARK"), job):
                    client.put(request.collection, request.body)
                found = client.get(request.collection, request.fqn, "tasks")
                assert found is not None
                assert [task["name"] for task in found["tasks"]] == [task["name"] for task in request.body["tasks"]]
                assert not client.put(request.collection, request.body).changed
        client.close()
        assert standin.disagreements == []
