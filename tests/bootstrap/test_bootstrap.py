"""The parts as the settings put them together: the client of OpenMetadata, and where datasets lie there."""

import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.targets import location_layout
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import ConfigError, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient as Client
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, locate_dataset
from tests.standins.openmetadata import OpenMetadata, error


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


def settings(**given: Any) -> OpenMetadataSettings:
    return OpenMetadataSettings.model_validate(given)


@pytest.mark.parametrize(
    ("auth", "who"),
    [
        ({"jwt_token": " BOT\n"}, "ingestion-bot"),
        ({"token_file": "FILE"}, "ingestion-bot"),
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "admin"}, "admin"),
    ],
)
def test_the_client_proves_who_it_is_as_the_settings_say(
    standin: OpenMetadata, tmp_path: Path, auth: dict[str, str], who: str
) -> None:
    (tmp_path / "token").write_text(f"{standin.bot_token}\n")
    given = {
        key: value.replace("BOT", standin.bot_token).replace("FILE", str(tmp_path / "token"))
        for key, value in auth.items()
    }
    counted: list[str] = []
    client = make_openmetadata_client(settings(server={"host": f"{standin.url}/api/"}, auth=given), counted.append)
    with closing(client):
        assert client.current_user()["name"] == who
    assert (client.url, counted) == (standin.url, ["who"])


@pytest.mark.parametrize("attempts", [1, 2, 10])
def test_a_call_is_tried_as_often_as_the_settings_say(
    standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    monkeypatch.setattr("bridge.bootstrap.clients.OpenMetadataClient", partial(Client, sleep=lambda _: None))
    of = settings(
        server={"host": standin.url}, auth={"jwt_token": standin.bot_token}, retry_config={"max_attempts": attempts}
    )
    standin.faults.next(error(503), times=attempts)
    with closing(make_openmetadata_client(of)) as client, pytest.raises(TargetUnavailable):
        client.current_user()
    assert len(standin.requests) == attempts


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "openmetadata.server.host is not set"),
        ({"server": {"host": "http://om"}}, "openmetadata.auth.jwt_token is not set"),
        ({"server": {"host": "http://om"}, "auth": {"type": "basic"}}, "openmetadata.auth.username is not set"),
    ],
)
def test_what_is_missing_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_openmetadata_client(settings(**given))


PAGE = Path(__file__).parents[2] / "docs" / "guides" / "openmetadata.md"


def test_the_mappings_of_the_documentation_lead_where_it_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    layout = location_layout(settings(**yaml.safe_load(block)["openmetadata"]))
    rows = re.findall(r"^\| `(\S+)` `(\S+)`.*?\| `(\S+)`", text, re.MULTILINE)
    assert len(rows) == 6
    assert [(*row[:2], locate_dataset(layout, *row[:2]).fqn) for row in rows] == rows


def test_the_settings_say_where_datasets_lie() -> None:
    mapping = {"namespace": "s3://*", "service": "lake", "database": "files", "schema": "{folder}"}
    layout = location_layout(settings(mappings=[mapping], service={"name": "ours"}, paths_as="table"))
    assert layout == ServiceLayout((ServiceMapping("s3://*", "lake", "files", "{folder}"),), "ours", "table")
    assert locate_dataset(layout, "s3://bucket", "raw/orders").fqn == "lake.files.raw.orders"
    assert location_layout(settings(paths_as="container")).files_as == "container"
