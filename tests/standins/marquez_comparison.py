"""Compares recorded answers of Marquez with those of its stand-in: what two servers can agree in."""

import json
import re
from collections import Counter
from typing import Any

from tests.standins.replay_comparison import compare

Json = dict[str, Any]

#: Ids that the server makes up.
IDS = {"version", "currentVersion", "currentSchemaVersion", "parentJobUuid", "datasetVersion"}
#: Lists of which the server gives the parts in any order.
_SETS = {
    "errors", "inputs", "outputs", "inputDatasetVersions", "outputDatasetVersions", "columnLineage", "inputFields",
    "tags", "labels", "graph", "inEdges", "outEdges",
}  # fmt: skip
_CLOCK = re.compile(r"2026-11-18T[0-9:.]+Z")
_VERSION = re.compile(r"#[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_LOGGED = re.compile(r"\(ID [0-9a-f]{16}\)")


def differences(wanted: Json, ours: Any, logged: Counter[str]) -> list[str]:
    """Tell where an answer differs from a recorded one, as far as that was kept; `logged` counts events by time."""
    recorded = wanted.get("body")
    if wanted.get("truncated"):
        if isinstance(recorded, str):
            return []
        ours = _as_kept(recorded, ours)
    if isinstance(recorded, dict) and isinstance(ours, dict) and "events" in recorded and "events" in ours:
        return _log(recorded, ours, logged)
    return compare(normal(recorded), normal(ours))


def normal(value: Any, key: str = "") -> Any:
    """Bring an answer into a form that two servers can agree in."""
    if isinstance(value, dict):
        out = {name: normal(item, name) for name, item in value.items()}
        if "durationMs" in out and out["endedAt"] == "now":
            out["durationMs"] = "*"
        if value.get("code") == 400 and "INCLUDE_SOURCE_IN_LOCATION" in str(value.get("message", "")):
            out["message"] = "*"
        return out
    if isinstance(value, list):
        items = [normal(item) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if key in _SETS else items
    if key in IDS and value is not None:
        return "*"
    if isinstance(value, str):
        return _VERSION.sub("#*", _LOGGED.sub("(ID *)", _CLOCK.sub("now", value))).partition("\n")[0]
    return value


def _as_kept(recorded: Json, ours: Json) -> Json:
    """Cut the lists of an answer to what was kept of the recorded one."""
    return {
        name: item[: len(recorded[name])] if isinstance(item, list) and name in recorded else item
        for name, item in ours.items()
    }


def _log(recorded: Json, ours: Json, logged: Counter[str]) -> list[str]:
    """Compare pages of the log: of events of one time that do not all fit, any may be listed."""
    out = compare({**recorded, "events": None}, {**ours, "events": None})
    times = [[event["eventTime"] for event in page["events"]] for page in (recorded, ours)]
    out += compare(*times, ".events.eventTime")
    for time, listed in Counter(times[0]).items():
        mine, theirs = (
            Counter(
                json.dumps(normal(event), sort_keys=True) for event in page["events"] if event["eventTime"] == time
            )
            for page in (ours, recorded)
        )
        if mine != theirs and listed == logged[time]:
            out.append(f".events at {time}: {mine - theirs} instead of {theirs - mine}")
    return out
