"""Compares recorded responses of Marquez with those of the stand-in, ignoring generated values."""

import json
import re
from collections import Counter
from typing import Any

from tests.standins.replay_comparison import compare

Json = dict[str, Any]

#: Generated ids.
IDS = {"version", "currentVersion", "currentSchemaVersion", "parentJobUuid", "datasetVersion"}
#: Lists without a defined order.
_SETS = {
    "errors", "inputs", "outputs", "inputDatasetVersions", "outputDatasetVersions", "columnLineage", "inputFields",
    "tags", "labels", "graph", "inEdges", "outEdges",
}  # fmt: skip
_CLOCK = re.compile(r"2026-11-18T[0-9:.]+Z")
_VERSION = re.compile(r"#[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LOGGED = re.compile(r"\(ID [0-9a-f]{16}\)")


def differences(expected: Json, actual: Any, logged: Counter[str]) -> list[str]:
    """List differences to a recorded response, which may be truncated; `logged` counts events by time."""
    recorded = expected.get("body")
    if expected.get("truncated"):
        if isinstance(recorded, str):
            return []
        actual = _truncate(recorded, actual)
    if isinstance(recorded, dict) and isinstance(actual, dict) and "events" in recorded and "events" in actual:
        return _log(recorded, actual, logged)
    return compare(normalize(recorded), normalize(actual))


def normalize(value: Any, key: str = "") -> Any:
    """Replace generated values and sort unordered lists."""
    if isinstance(value, dict):
        out = {name: normalize(item, name) for name, item in value.items()}
        if "durationMs" in out and out["endedAt"] == "now":
            out["durationMs"] = "*"
        if value.get("code") == 400 and "INCLUDE_SOURCE_IN_LOCATION" in str(value.get("message", "")):
            out["message"] = "*"
        return out
    if isinstance(value, list):
        items = [normalize(item) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if key in _SETS else items
    if key in IDS and value is not None:
        return "*"
    if isinstance(value, str):
        return _VERSION.sub("#*", _LOGGED.sub("(ID *)", _CLOCK.sub("now", value))).partition("\n")[0]
    return value


def _truncate(recorded: Json, actual: Json) -> Json:
    """Cut the lists of a response to the length of the recorded ones."""
    return {
        name: item[: len(recorded[name])] if isinstance(item, list) and name in recorded else item
        for name, item in actual.items()
    }


def _log(recorded: Json, actual: Json, logged: Counter[str]) -> list[str]:
    """Compare pages of the log; if not all events of one time fit on a page, any of them may be listed."""
    out = compare({**recorded, "events": None}, {**actual, "events": None})
    times = [[event["eventTime"] for event in page["events"]] for page in (recorded, actual)]
    out += compare(*times, ".events.eventTime")
    for time, listed in Counter(times[0]).items():
        our_events, recorded_events = (
            Counter(
                json.dumps(normalize(event), sort_keys=True) for event in page["events"] if event["eventTime"] == time
            )
            for page in (actual, recorded)
        )
        if our_events != recorded_events and listed == logged[time]:
            out.append(f".events at {time}: {our_events - recorded_events} instead of {recorded_events - our_events}")
    return out
