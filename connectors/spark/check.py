"""Checks a conf: every key against those the listener knows, and what else keeps events from leaving."""

import difflib
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from connectors.spark.conf import LISTENER_CLASS, PREFIX
from connectors.spark.findings import Effect, Finding
from connectors.spark.keys import Known, known_keys
from connectors.spark.lines import Line
from connectors.spark.lookup import holders, is_section, nearest, value_of
from connectors.spark.packages import check_packages
from connectors.spark.values import wanted, wrong_value

#: From here on two words look like the same one, mistyped.
_SIMILAR = 0.8


def check_conf(conf: Mapping[str, str], line: Line | None = None) -> list[Finding]:
    """Find what is wrong with a conf, for a line of Spark if one is given; the worst comes first."""
    ours = {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}
    known = known_keys(ours)
    findings = [
        *_foreign_keys(conf, known),
        *(finding for key, value in ours.items() for finding in _key(key, value, ours, known)),
        *_untyped(known),
        *_transport("transport.", ours),
        *_parent(ours),
        *_listener(conf),
        *check_packages(conf, line),
    ]
    return sorted(findings, key=lambda finding: list(Effect).index(finding.effect))


def _foreign_keys(conf: Mapping[str, str], known: Known) -> Iterator[Finding]:
    """Find keys of the listener that do not begin as its keys begin."""
    for key in conf:
        first, _, rest = key.removeprefix("spark.").partition(".")
        ours = difflib.SequenceMatcher(None, first.lower(), "openlineage").ratio() >= _SIMILAR
        if key.startswith(PREFIX):
            continue
        if ours and rest:
            near = rest if value_of(rest, known.keys) else nearest(rest, known.keys, _SIMILAR) or rest
            yield Finding(key, Effect.ignored, f"does not begin with {PREFIX}", f"write {PREFIX}{near}")
        elif not key.startswith("spark."):
            near = nearest(key, known.keys, _SIMILAR) or ""
            remedy = f"write {PREFIX}{near}" if near else "begin it with spark. or leave it out"
            yield Finding(key, Effect.ignored, "does not begin with spark.", remedy)


def _key(key: str, value: str, ours: Mapping[str, str], known: Known) -> Iterator[Finding]:
    name, takes = f"{PREFIX}{key}", value_of(key, known.keys)
    if takes is not None:
        if found := wrong_value(takes, value):
            yield Finding(name, *found, wanted(takes))
        return
    # A transport inside another one is read strictly; everywhere else what is unknown is passed over.
    inside = key.startswith(("transport.transports.", "transport.transport."))
    effect = Effect.silent if inside else Effect.ignored
    owner = next((one for one in holders(key) if value_of(one, known.keys)), None)
    untyped = {one: given for one, given in ours.items() if not one.endswith(".type")}
    if owner:
        yield Finding(name, Effect.silent, f"goes on behind {owner}, which takes a value", _suggest(key, known))
    elif is_section(key, known.keys):
        yield Finding(name, Effect.silent, "takes no value, it holds other keys", _suggest(f"{key}.", known))
    elif value_of(key, known_keys(untyped).keys):
        yield Finding(name, effect, "is for another type", "leave it out, or set the type that it belongs to")
    else:
        yield Finding(name, effect, "is no key that the listener looks at", _suggest(key, known))


def _suggest(key: str, known: Known) -> str:
    return f"did you mean {PREFIX}{nearest(key, known.keys)}?"


def _untyped(known: Known) -> Iterator[Finding]:
    for at in known.untyped:
        choices = known.keys[f"{at}type"].choices
        yield Finding(
            f"{PREFIX}{at}type", Effect.silent, "is missing beside other keys of its section",
            f"set it to {' or '.join(choices)}",
        )  # fmt: skip


def _transport(at: str, ours: Mapping[str, str]) -> Iterator[Finding]:
    """Find what a transport lacks to bring events anywhere."""
    kind, name = ours.get(f"{at}type", "").lower(), f"{PREFIX}{at}"
    if not any(key.startswith(at) for key in ours):
        yield Finding(f"{name}type", Effect.silent, "is missing: events go to the log only", "set it to http or file")
    elif kind == "console":
        yield Finding(f"{name}type", Effect.doubtful, "is console: events go to the log only", "use http or file")
    for wanting, key in (("http", "url"), ("file", "location"), ("kafka", "topicName")):
        if kind == wanting and f"{at}{key}" not in ours:
            yield Finding(f"{name}{key}", Effect.silent, "is missing", f"say where {kind} brings the events")
    if kind == "file" and not ours.get(f"{at}location", "/").strip().startswith("/"):
        problem = "is no absolute path: it is meant from wherever the driver starts, and a bare name is never written"
        yield Finding(f"{name}location", Effect.silent, problem, "write it from / on")
    if kind == "http":
        yield from _http(at, ours)
    inner = sorted({key.removeprefix(f"{at}transports.").partition(".")[0] for key in ours
                    if key.startswith(f"{at}transports.")})  # fmt: skip
    if kind == "composite" and not inner:
        yield Finding(f"{name}transports", Effect.silent, "are missing", f"write {name}transports.<name>.type")
    for one in inner if kind == "composite" else []:
        yield from _transport(f"{at}transports.{one}.", ours)
    if kind == "composite":
        yield from _order(at, [ours.get(f"{at}transports.{one}.type", "").lower() for one in inner], ours)


def _order(at: str, kinds: list[str], ours: Mapping[str, str]) -> Iterator[Finding]:
    """Warn of a file behind HTTP: one after the other, by name, the first that fails ends the rest."""
    switches = (ours.get(f"{at}{key}", "true").strip().lower() for key in ("withThreadPool", "continueOnFailure"))
    if "false" in switches and "file" in kinds and "http" in kinds[: kinds.index("file")]:
        problem = "put a file behind HTTP, by their names: it lacks what HTTP could not send"
        yield Finding(f"{PREFIX}{at}transports", Effect.doubtful, problem, "name the file's so that it comes first")


def _http(at: str, ours: Mapping[str, str]) -> Iterator[Finding]:
    name = f"{PREFIX}{at}"
    auth = ours.get(f"{at}auth.type")
    for needed in ("apiKey", "tokenEndpoint") if auth == "jwt" else ("apiKey",) if auth else ():
        if not ours.get(f"{at}auth.{needed}", "").strip():
            yield Finding(f"{name}auth.{needed}", Effect.silent, "is missing beside auth.type", f"set {needed}")
    path = _path(ours.get(f"{at}url", ""))
    if not path:
        return
    if at == "transport.":
        if path != "/" and not path.startswith("/api/v1"):
            remedy = f"write it without, and {name}endpoint as {path.rstrip('/')}/api/v1/lineage"
            yield Finding(f"{name}url", Effect.silent, "has a path, which the listener drops", remedy)
    elif f"{at}endpoint" in ours:
        yield Finding(f"{name}endpoint", Effect.silent, "stands beside a path in url", "write the url without path")
    elif not path.endswith("/lineage"):
        remedy = "write it without path or slash, or with the whole path up to /api/v1/lineage"
        yield Finding(f"{name}url", Effect.silent, "has a path, and inside composite it is the whole one", remedy)


def _path(url: str) -> str:
    try:
        return urlsplit(url).path if "://" in url else ""
    except ValueError:
        return ""


def _parent(ours: Mapping[str, str]) -> Iterator[Finding]:
    for first in ("parent", "rootParent"):
        keys = [f"{first}JobNamespace", f"{first}JobName", f"{first}RunId"]
        missing = [f"{PREFIX}{key}" for key in keys if not ours.get(key, "").strip()]
        if 0 < len(missing) < len(keys):
            remedy = "a parent is named by all three: namespace, name, run"
            yield Finding(missing[0], Effect.ignored, "is missing beside the rest of the parent", remedy)


def _listener(conf: Mapping[str, str]) -> Iterator[Finding]:
    classes = [name.strip() for name in conf.get("spark.extraListeners", "").split(",")]
    if LISTENER_CLASS not in classes:
        others = [name for name in classes if name and "openlineage" not in name.lower()]
        remedy = f"set it to {','.join([*others, LISTENER_CLASS])}"
        yield Finding("spark.extraListeners", Effect.silent, "does not name the listener", remedy)
    if conf.get(f"{PREFIX}disabled", "").strip().lower() == "true":
        yield Finding(f"{PREFIX}disabled", Effect.silent, "turns the listener off", "leave it out")
