"""Objects built from settings: the OpenMetadata client, and dataset locations."""

import re
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.bootstrap.clients import make_openmetadata_client
from bridge.bootstrap.targets import service_layout
from bridge.settings.openmetadata import OpenMetadataSettings
from connectors.errors import ConfigError, TargetUnavailable
from connectors.openmetadata.client import OpenMetadataClient as Client
from mappers.openmetadata.locations import ServiceLayout, ServiceMapping, locate_dataset
from tests.standins.openmetadata import OpenMetadata, error


@pytest.fixture
def standin() -> Iterator[OpenMetadata]:
    with OpenMetadata() as running:
        yield running


def settings(**values: Any) -> OpenMetadataSettings:
    return OpenMetadataSettings.model_validate(values)


@pytest.mark.parametrize(
    ("auth", "user"),
    [
        ({"jwt_token": " BOT\n"}, "ingestion-bot"),
        ({"token_file": "FILE"}, "ingestion-bot"),
        ({"type": "basic", "username": "admin@open-metadata.org", "password": "admin"}, "admin"),
    ],
)
def test_client_authenticates_as_configured(
    standin: OpenMetadata, tmp_path: Path, auth: dict[str, str], user: str
) -> None:
    (tmp_path / "token").write_text(f"{standin.bot_token}\n")
    auth_settings = {
        key: value.replace("BOT", standin.bot_token).replace("FILE", str(tmp_path / "token"))
        for key, value in auth.items()
    }
    calls: list[str] = []
    client = make_openmetadata_client(
        settings(server={"host": f"{standin.url}/api/"}, auth=auth_settings), calls.append
    )
    with closing(client):
        assert client.current_user()["name"] == user
    assert (client.url, calls) == (standin.url, ["who"])


@pytest.mark.parametrize("attempts", [1, 2, 10])
def test_client_retries_as_configured(standin: OpenMetadata, monkeypatch: pytest.MonkeyPatch, attempts: int) -> None:
    monkeypatch.setattr("bridge.bootstrap.clients.OpenMetadataClient", partial(Client, sleep=lambda _: None))
    target_settings = settings(
        server={"host": standin.url}, auth={"jwt_token": standin.bot_token}, retry_config={"max_attempts": attempts}
    )
    standin.faults.next(error(503), times=attempts)
    with closing(make_openmetadata_client(target_settings)) as client, pytest.raises(TargetUnavailable):
        client.current_user()
    assert len(standin.requests) == attempts


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "openmetadata.server.host is not set"),
        ({"server": {"host": "http://om"}}, "openmetadata.auth.jwt_token is not set"),
        ({"server": {"host": "http://om"}, "auth": {"type": "basic"}}, "openmetadata.auth.username is not set"),
    ],
)
def test_missing_setting_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_openmetadata_client(settings(**values))


PAGE = Path(__file__).parents[2] / "docs" / "guides" / "openmetadata.md"


def test_documented_mappings() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    layout = service_layout(settings(**yaml.safe_load(block)["openmetadata"]))
    rows = re.findall(r"^\| `(\S+)` `(\S+)`.*?\| `(\S+)`", text, re.MULTILINE)
    assert len(rows) == 6
    assert [(*row[:2], locate_dataset(layout, *row[:2]).fqn) for row in rows] == rows


def test_location_layout_from_settings() -> None:
    mapping = {"namespace": "s3://*", "service": "lake", "database": "files", "schema": "{folder}"}
    layout = service_layout(settings(mappings=[mapping], service={"name": "ours"}, paths_as="table"))
    assert layout == ServiceLayout((ServiceMapping("s3://*", "lake", "files", "{folder}"),), "ours", "table")
    assert locate_dataset(layout, "s3://bucket", "raw/orders").fqn == "lake.files.raw.orders"
    assert service_layout(settings(paths_as="container")).files_as == "container"
