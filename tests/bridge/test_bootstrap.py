"""The parts as the settings put them together: the client of OpenMetadata, and where datasets lie there."""

import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.bootstrap import layout_of, make_openmetadata
from bridge.openmetadata_settings import OpenMetadataSettings
from connectors.openmetadata.client import OpenMetadata as Client
from mappers.errors import ConfigError, TargetBusy
from mappers.openmetadata.places import Layout, Mapping, place
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
    client = make_openmetadata(settings(server={"host": f"{standin.url}/api/"}, auth=given), counted.append)
    with closing(client):
        assert client.who()["name"] == who
    assert (client.url, counted) == (standin.url, ["who"])


@pytest.mark.parametrize("attempts", [1, 2, 10])
def test_a_call_is_tried_as_often_as_the_settings_say(
    standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    monkeypatch.setattr("bridge.bootstrap.OpenMetadata", partial(Client, sleep=lambda _: None))
    of = settings(
        server={"host": standin.url}, auth={"jwt_token": standin.bot_token}, retry_config={"max_attempts": attempts}
    )
    standin.faults.next(error(503), times=attempts)
    with closing(make_openmetadata(of)) as client, pytest.raises(TargetBusy):
        client.who()
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
        make_openmetadata(settings(**given))


PAGE = Path(__file__).parents[2] / "docs" / "openmetadata.md"


def test_the_mappings_of_the_documentation_lead_where_it_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    layout = layout_of(settings(**yaml.safe_load(block)["openmetadata"]))
    rows = re.findall(r"^\| `(\S+)` `(\S+)`.*?\| `(\S+)`", text, re.MULTILINE)
    assert len(rows) == 6
    assert [(*row[:2], place(layout, *row[:2]).fqn) for row in rows] == rows


def test_the_settings_say_where_datasets_lie() -> None:
    mapping = {"namespace": "s3://*", "service": "lake", "database": "files", "schema": "{folder}"}
    layout = layout_of(settings(mappings=[mapping], service={"name": "ours"}, paths_as="table"))
    assert layout == Layout((Mapping("s3://*", "lake", "files", "{folder}"),), "ours", "table")
    assert place(layout, "s3://bucket", "raw/orders").fqn == "lake.files.raw.orders"
    assert layout_of(settings(paths_as="container")).files_as == "container"
