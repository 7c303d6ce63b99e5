"""A service with versions to decide about: those that the examples of orders speak of."""

from typing import Any

from tests.api.service import Running
from tests.stores import Json, as_bytes
from tests.versions.version_store import version

LAKE = "s3://lake"


def of(name: str, **more: Any) -> Json:
    return {"namespace": LAKE, "name": f"sales/{name}", **more}


def prepare(api: Running) -> Running:
    """Write two versions of two datasets, and publish the first of one."""
    for offset, name in enumerate(("daily", "weekly")):
        for number in (1, 2):
            answer = api.post(version(f"sales/{name}", f"v{number}", 10 * offset + number, namespace=LAKE))
            assert answer.status_code == 201, answer.text
    first = api.post(as_bytes({"datasets": [of("daily", version="v1")], "by": "ann"}), "/api/v1/publish")
    assert first.status_code == 200, first.text
    return api
