"""Web pages that make a browser send requests to a service on loopback."""

import hashlib
from pathlib import Path

import pytest

from tests.api.service import PROBLEM, RunningService, settings_for
from tests.factories import run_event
from tests.stores import Json

_KEYS = [
    {"name": "all", "sha256": hashlib.sha256(b"key").hexdigest(), "scopes": ["ingest", "read", "operate"]},
]
_PUBLIC = {"public_url": "https://Lineage.example.com:8443/bridge"}
_READS = ("/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/events", "/dataset?name=a", "/nowhere")
_WRITES = ("/api/v1/lineage", "/api/v1/lineage/batch/", "/api/v1/run_event", "/api/v1/publish", "/nowhere")


@pytest.mark.parametrize(
    ("host", "served"),
    [
        ("localhost", True),
        ("LocalHost:8090", True),
        ("127.0.0.1:8090", True),
        ("127.9.9.9", True),
        ("[::1]:8090", True),
        ("lineage.example.com:8443", True),
        ("lineage.example.com", True),
        ("attacker.example", False),
        ("localhost.attacker.example", False),
        ("127.0.0.1.attacker.example", False),
        ("10.0.0.7:8090", False),
        ("localhost@attacker.example", False),
        ("[::1]attacker.example", False),
        ("localhost:80:attacker.example", False),
    ],
)
def test_without_keys_only_known_hosts_are_served(tmp_path: Path, host: str, *, served: bool) -> None:
    with RunningService(settings_for(tmp_path, server=_PUBLIC)) as api:
        for path in _READS:
            response = api.get(path, headers={"Host": host})
            assert (response.status_code != 421) is served, path
            if not served:
                assert (response.headers["content-type"], "API keys" in response.text) == (PROBLEM, True)
        assert (api.post(run_event(), host=host).status_code == 201) is served


def test_with_keys_any_host_is_served(tmp_path: Path) -> None:
    with RunningService(settings_for(tmp_path, server={"api_keys": _KEYS})) as api:
        assert api.get("/readyz", headers={"Host": "10.0.0.7:8090"}).status_code == 200
        assert api.post(run_event(), host="bridge", authorization="Bearer key").status_code == 201


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"origin": "http://localhost:8090"}, True),
        ({"origin": "http://localhost:8090", "sec_fetch_site": "same-origin"}, True),
        ({"origin": "https://lineage.example.com:8443"}, True),
        ({"sec_fetch_site": "none"}, True),
        ({"origin": "http://localhost:3000"}, False),
        ({"origin": "http://localhost"}, False),
        ({"origin": "https://attacker.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"origin": "http://localhost:8090", "sec_fetch_site": "cross-site"}, False),
    ],
)
@pytest.mark.parametrize("keys", [[], _KEYS], ids=["no keys", "keys"])
def test_writes_of_other_sites_are_refused(
    tmp_path: Path, keys: list[Json], headers: dict[str, str], *, allowed: bool
) -> None:
    with RunningService(settings_for(tmp_path, server={**_PUBLIC, "api_keys": keys})) as api:
        all_headers = {"host": "localhost:8090", "authorization": "Bearer key", **headers}
        for path in _WRITES:
            assert (api.post(run_event(), path, **all_headers).status_code != 403) is allowed, path
        assert api.events() == allowed
        named = {name.replace("_", "-"): value for name, value in all_headers.items()}
        deleted = api.run(api.client.delete("/api/v1/pins?pin=a", headers=named))
        assert (deleted.status_code != 403) is allowed
        assert api.get("/readyz", headers=named).status_code == 200


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("application/vnd.openlineage+json", 201),
        ("text/plain+json", 415),
        ("text/plain", 415),
        ("multipart/form-data+json", 415),
        ("+json", 415),
    ],
)
def test_only_application_types_are_json(tmp_path: Path, media_type: str, status: int) -> None:
    with RunningService(settings_for(tmp_path)) as api:
        assert api.post(run_event(), content_type=media_type).status_code == status
