"""Checks a Spark conf: listener keys, transports, packages."""

import difflib
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from connectors.spark.conf import LISTENER_CLASS, PREFIX
from connectors.spark.conf_problem import ConfProblem, ProblemEffect
from connectors.spark.listener_keys import (
    AcceptedKeys,
    accepted_keys,
    find_key,
    is_section,
    nearest_key,
    parent_sections,
)
from connectors.spark.releases import LISTENER_VERSION, SparkRelease, TableFormat, releases_with
from connectors.spark.value_check import value_hint, value_problem

_JARS = ("spark.jars.packages", "spark.jars")
_LISTENER = re.compile(r"openlineage-spark(?:_([\d.]+))?[:-](\d[\w.]*?)(?:\.jar)?$")
_FORMATS = {
    TableFormat.iceberg: re.compile(r"iceberg-spark-runtime-[\d.]+_[\d.]+"),
    TableFormat.delta: re.compile(r"delta-spark_[\d._]+\d"),
}


def check_packages(conf: Mapping[str, str], line: SparkRelease | None) -> Iterator[ConfProblem]:
    """Find packages that are missing, or made for another Spark or Scala."""
    named = [(key, name.strip()) for key in _JARS for name in conf.get(key, "").split(",") if name.strip()]
    listeners = [(key, found) for key, name in named if (found := _LISTENER.search(name))]
    if not listeners:
        remedy = f"name {line.listener}" if line else "name the listener's package"
        problem = "does not name the listener, which must be in Spark's own jars then"
        yield ConfProblem("spark.jars.packages", ProblemEffect.doubtful, problem, remedy)
    for key, found in listeners:
        yield from _check_listener_package(key, found[1], found[2], line)
    for catalog, pattern in _FORMATS.items():
        for key, name in named:
            if (found := pattern.search(name)) and line:
                yield from _table_format(key, found[0], catalog, line)


def _check_listener_package(
    key: str, scala: str | None, release: str, line: SparkRelease | None
) -> Iterator[ConfProblem]:
    if scala is None:
        remedy = f"name {line.listener}" if line else "name it as openlineage-spark_2.12 or openlineage-spark_2.13"
        yield ConfProblem(key, ProblemEffect.silent, "names the listener without a Scala version", remedy)
    elif line and scala != line.scala:
        problem = f"names the listener for Scala {scala}, and Spark {line.name} has Scala {line.scala}"
        yield ConfProblem(key, ProblemEffect.silent, problem, f"name {line.listener}")
    if release != LISTENER_VERSION:
        problem = f"names the listener {release}, and keys are checked against {LISTENER_VERSION}"
        yield ConfProblem(key, ProblemEffect.doubtful, problem, "see whether it knows them, too")


def _table_format(key: str, artifact: str, catalog: TableFormat, line: SparkRelease) -> Iterator[ConfProblem]:
    fitting = line.package_or_none(catalog)
    if fitting is None:
        problem = f"names {artifact}, and {catalog} has no release for Spark {line.name}"
        yield ConfProblem(key, ProblemEffect.silent, problem, f"leave it out, or use {releases_with(catalog)}")
    elif artifact != fitting.split(":")[1]:
        yield ConfProblem(
            key, ProblemEffect.silent, f"names {artifact}, which is not for Spark {line.name}", f"name {fitting}"
        )


#: From here on two words look like the same one, mistyped.
_SIMILAR = 0.8


def check_conf(conf: Mapping[str, str], line: SparkRelease | None = None) -> list[ConfProblem]:
    """Find what is wrong with a conf, for a line of Spark if one is given; the worst comes first."""
    ours = {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}
    known = accepted_keys(ours)
    findings = [
        *_foreign_keys(conf, known),
        *(finding for key, value in ours.items() for finding in _key(key, value, ours, known)),
        *_untyped(known),
        *_transport("transport.", ours),
        *_parent(ours),
        *_check_listener_class(conf),
        *check_packages(conf, line),
    ]
    return sorted(findings, key=lambda finding: list(ProblemEffect).index(finding.effect))


def _foreign_keys(conf: Mapping[str, str], known: AcceptedKeys) -> Iterator[ConfProblem]:
    """Find keys of the listener that do not begin as its keys begin."""
    for key in conf:
        first, _, rest = key.removeprefix("spark.").partition(".")
        ours = difflib.SequenceMatcher(None, first.lower(), "openlineage").ratio() >= _SIMILAR
        if key.startswith(PREFIX):
            continue
        if ours and rest:
            near = rest if find_key(rest, known.keys) else nearest_key(rest, known.keys, _SIMILAR) or rest
            yield ConfProblem(key, ProblemEffect.ignored, f"does not begin with {PREFIX}", f"write {PREFIX}{near}")
        elif not key.startswith("spark."):
            near = nearest_key(key, known.keys, _SIMILAR) or ""
            remedy = f"write {PREFIX}{near}" if near else "begin it with spark. or leave it out"
            yield ConfProblem(key, ProblemEffect.ignored, "does not begin with spark.", remedy)


def _key(key: str, value: str, ours: Mapping[str, str], known: AcceptedKeys) -> Iterator[ConfProblem]:
    name, takes = f"{PREFIX}{key}", find_key(key, known.keys)
    if takes is not None:
        if found := value_problem(takes, value):
            yield ConfProblem(name, *found, value_hint(takes))
        return
    # A transport inside another one is read strictly; everywhere else what is unknown is passed over.
    inside = key.startswith(("transport.transports.", "transport.transport."))
    effect = ProblemEffect.silent if inside else ProblemEffect.ignored
    owner = next((one for one in parent_sections(key) if find_key(one, known.keys)), None)
    untyped = {one: given for one, given in ours.items() if not one.endswith(".type")}
    if owner:
        yield ConfProblem(
            name, ProblemEffect.silent, f"goes on behind {owner}, which takes a value", _suggest(key, known)
        )
    elif is_section(key, known.keys):
        yield ConfProblem(
            name, ProblemEffect.silent, "takes no value, it holds other keys", _suggest(f"{key}.", known)
        )
    elif find_key(key, accepted_keys(untyped).keys):
        yield ConfProblem(name, effect, "is for another type", "leave it out, or set the type that it belongs to")
    else:
        yield ConfProblem(name, effect, "is no key that the listener looks at", _suggest(key, known))


def _suggest(key: str, known: AcceptedKeys) -> str:
    return f"did you mean {PREFIX}{nearest_key(key, known.keys)}?"


def _untyped(known: AcceptedKeys) -> Iterator[ConfProblem]:
    for at in known.untyped:
        choices = known.keys[f"{at}type"].choices
        yield ConfProblem(
            f"{PREFIX}{at}type", ProblemEffect.silent, "is missing beside other keys of its section",
            f"set it to {' or '.join(choices)}",
        )  # fmt: skip


def _transport(at: str, ours: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Find what a transport lacks to bring events anywhere."""
    kind, name = ours.get(f"{at}type", "").lower(), f"{PREFIX}{at}"
    if not any(key.startswith(at) for key in ours):
        yield ConfProblem(
            f"{name}type", ProblemEffect.silent, "is missing: events go to the log only", "set it to http or file"
        )
    elif kind == "console":
        yield ConfProblem(
            f"{name}type", ProblemEffect.doubtful, "is console: events go to the log only", "use http or file"
        )
    for wanting, key in (("http", "url"), ("file", "location"), ("kafka", "topicName")):
        if kind == wanting and f"{at}{key}" not in ours:
            yield ConfProblem(
                f"{name}{key}", ProblemEffect.silent, "is missing", f"say where {kind} brings the events"
            )
    if kind == "file" and not ours.get(f"{at}location", "/").strip().startswith("/"):
        problem = "is no absolute path: it is meant from wherever the driver starts, and a bare name is never written"
        yield ConfProblem(f"{name}location", ProblemEffect.silent, problem, "write it from / on")
    if kind == "http":
        yield from _http(at, ours)
    inner = sorted({key.removeprefix(f"{at}transports.").partition(".")[0] for key in ours
                    if key.startswith(f"{at}transports.")})  # fmt: skip
    if kind == "composite" and not inner:
        yield ConfProblem(
            f"{name}transports", ProblemEffect.silent, "are missing", f"write {name}transports.<name>.type"
        )
    for one in inner if kind == "composite" else []:
        yield from _transport(f"{at}transports.{one}.", ours)
    if kind == "composite":
        yield from _order(at, [ours.get(f"{at}transports.{one}.type", "").lower() for one in inner], ours)


def _order(at: str, kinds: list[str], ours: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Warn of a file behind HTTP: one after the other, by name, the first that fails ends the rest."""
    switches = (ours.get(f"{at}{key}", "true").strip().lower() for key in ("withThreadPool", "continueOnFailure"))
    if "false" in switches and "file" in kinds and "http" in kinds[: kinds.index("file")]:
        problem = "put a file behind HTTP, by their names: it lacks what HTTP could not send"
        yield ConfProblem(
            f"{PREFIX}{at}transports", ProblemEffect.doubtful, problem, "name the file's so that it comes first"
        )


def _http(at: str, ours: Mapping[str, str]) -> Iterator[ConfProblem]:
    name = f"{PREFIX}{at}"
    auth = ours.get(f"{at}auth.type")
    for needed in ("apiKey", "tokenEndpoint") if auth == "jwt" else ("apiKey",) if auth else ():
        if not ours.get(f"{at}auth.{needed}", "").strip():
            yield ConfProblem(
                f"{name}auth.{needed}", ProblemEffect.silent, "is missing beside auth.type", f"set {needed}"
            )
    path = _path(ours.get(f"{at}url", ""))
    if not path:
        return
    if at == "transport.":
        if path != "/" and not path.startswith("/api/v1"):
            remedy = f"write it without, and {name}endpoint as {path.rstrip('/')}/api/v1/lineage"
            yield ConfProblem(f"{name}url", ProblemEffect.silent, "has a path, which the listener drops", remedy)
    elif f"{at}endpoint" in ours:
        yield ConfProblem(
            f"{name}endpoint", ProblemEffect.silent, "stands beside a path in url", "write the url without path"
        )
    elif not path.endswith("/lineage"):
        remedy = "write it without path or slash, or with the whole path up to /api/v1/lineage"
        yield ConfProblem(
            f"{name}url", ProblemEffect.silent, "has a path, and inside composite it is the whole one", remedy
        )


def _path(url: str) -> str:
    try:
        return urlsplit(url).path if "://" in url else ""
    except ValueError:
        return ""


def _parent(ours: Mapping[str, str]) -> Iterator[ConfProblem]:
    for first in ("parent", "rootParent"):
        keys = [f"{first}JobNamespace", f"{first}JobName", f"{first}RunId"]
        missing = [f"{PREFIX}{key}" for key in keys if not ours.get(key, "").strip()]
        if 0 < len(missing) < len(keys):
            remedy = "a parent is named by all three: namespace, name, run"
            yield ConfProblem(missing[0], ProblemEffect.ignored, "is missing beside the rest of the parent", remedy)


def _check_listener_class(conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    classes = [name.strip() for name in conf.get("spark.extraListeners", "").split(",")]
    if LISTENER_CLASS not in classes:
        others = [name for name in classes if name and "openlineage" not in name.lower()]
        remedy = f"set it to {','.join([*others, LISTENER_CLASS])}"
        yield ConfProblem("spark.extraListeners", ProblemEffect.silent, "does not name the listener", remedy)
    if conf.get(f"{PREFIX}disabled", "").strip().lower() == "true":
        yield ConfProblem(f"{PREFIX}disabled", ProblemEffect.silent, "turns the listener off", "leave it out")
