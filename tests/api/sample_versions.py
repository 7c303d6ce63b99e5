"""Dataset versions that the examples of version commands refer to."""

from typing import Any

from tests.api.service import RunningService
from tests.stores import Json, as_bytes
from tests.versions.version_store import version

LAKE = "s3://lake"


def dataset_ref(name: str, **fields: Any) -> Json:
    return {"namespace": LAKE, "name": f"sales/{name}", **fields}


def write_versions(api: RunningService) -> RunningService:
    """Write two versions of two datasets, and publish the first of one."""
    for offset, name in enumerate(("daily", "weekly")):
        for number in (1, 2):
            response = api.post(version(f"sales/{name}", f"v{number}", 10 * offset + number, namespace=LAKE))
            assert response.status_code == 201, response.text
    first = api.post(as_bytes({"datasets": [dataset_ref("daily", version="v1")], "by": "ann"}), "/api/v1/publish")
    assert first.status_code == 200, first.text
    return api
