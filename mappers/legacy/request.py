"""Somebody's request to register a dataset: `POST /api/v1/dataset/register`."""

from mappers.errors import RefusedEvent
from mappers.legacy.fields import Fields, read_time
from mappers.legacy.names import LegacyNames, read_dataset_name
from mappers.openlineage.documents import own_facet, write_event

_PENDING = "PENDING"


def translate_request(body: Fields, names: LegacyNames, received: str) -> list[bytes]:
    """Translate a request; `received` is its time, unless the body says when it was submitted.

    What is asked for stays inside the request: nothing about the dataset changes before somebody approves.
    """
    named = read_dataset_name(body, names)
    submitter = body.needed("submitted_by", "submittedBy")
    at = body.time("submitted_at", "submittedAt") or read_time(received, body.at("submitted_at"), body.notes)
    if (body.text("status") or _PENDING).upper() != _PENDING:
        raise RefusedEvent(f"a request is {_PENDING}", body.at("status"))
    for key in ("reviewer", "comment", "review_comment"):
        if body.get(key)[1] is not None:
            raise RefusedEvent("belongs to the review, not to the request", body.at(key))
    wanted = {key: value for key, value in body.rest().items() if not key.startswith("_")}
    asked = {**wanted, "submittedBy": submitter, "submittedAt": at.text, "status": _PENDING}
    facets = {"lineageBridge_registration": own_facet("DatasetFacet", asked)}
    return [write_event("DatasetEvent", at.text, None, {"dataset": {**named._asdict(), "facets": facets}})]
