"""Requests sent between recorded exchanges, and the full bodies of truncated requests."""

import json
from typing import Any

from tests.standins.marquez_replay import Replay

Json = dict[str, Any]

_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/client/python"
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_RUN = "0190a000-0000-7000-8000-000000000{:03}"
_SOURCE = "postgres://db.example:5432"
_KILO = 1_000


def prepare(replay: Replay, file: str, name: str) -> None:
    """Send the unrecorded requests before an exchange: forty events of the same time."""
    if (file, name) == ("02-event-log", "ties40_asc_00"):
        for number in range(16, 56):
            event = _event("2026-11-04T00:00:00Z", number, f"many.{number}")
            assert replay.send(_post(json.dumps(event)))[0] == 201


def full_request(file: str, exchange: Json) -> Json:
    """Request as it was sent, if the recording differs."""
    name, request = exchange["name"], exchange["request"]
    if (file, name) == ("01-intake", "poison_dataset"):
        # Recorded after the name had been corrected for the next exchange.
        event = json.loads(json.dumps(request["body"]))
        event["outputs"][0]["name"] = ""
        return request | {"body": event}
    if not request.get("truncated"):
        return request
    return request | {"body": _complete(name, request["body"])}


def _complete(name: str, start: str) -> str:
    """Complete a body that was truncated after 4,000 characters."""
    if name.startswith("big_"):
        length = int(name.removeprefix("big_").removesuffix("kB")) * _KILO
        run, rest = start[: start.index("xxx")], '"}}}, "job": {"namespace": "etl", "name": "'
        return run + "x" * length + rest + name + '"}, "inputs": [], "outputs": []}'
    number = json.loads(start[start.index('"runId": ') + 9 :].partition("}")[0])[-3:]
    event = _event("2026-11-03T01:00:00Z", int(number), name.partition("_")[0])
    if name == "many_300":
        event["inputs"] = [{"namespace": _SOURCE, "name": f"many{at}", "facets": {}} for at in range(300)]
        return json.dumps(event)
    fields = [{"name": f"c{at}", "type": "INT"} for at in range(2 * _KILO)]
    facet = {"_producer": _PRODUCER, "_schemaURL": _SCHEMA, "fields": fields}
    event["outputs"] = [{"namespace": _SOURCE, "name": "wide", "facets": {"schema": facet}}]
    return json.dumps(event)


def _event(time: str, number: int, job: str) -> Json:
    return {
        "eventType": "COMPLETE",
        "eventTime": time,
        "producer": _PRODUCER,
        "schemaURL": _SCHEMA,
        "run": {"runId": _RUN.format(number)},
        "job": {"namespace": "etl", "name": job},
        "inputs": [],
        "outputs": [],
    }


def _post(body: str) -> Json:
    return {
        "method": "POST",
        "path": "/api/v1/lineage",
        "headers": {"Content-Type": "application/json"},
        "body": body,
    }
