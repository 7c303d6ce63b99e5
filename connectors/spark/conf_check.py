"""Checks a Spark conf: listener keys, transports, packages."""

import difflib
import re
from collections.abc import Iterator, Mapping
from itertools import chain
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
_LISTENER_PACKAGE = re.compile(r"openlineage-spark(?:_([\d.]+))?[:-](\d[\w.]*?)(?:\.jar)?$")
_FORMAT_PACKAGES = {
    TableFormat.iceberg: re.compile(r"iceberg-spark-runtime-[\d.]+_[\d.]+"),
    TableFormat.delta: re.compile(r"delta-spark_[\d._]+\d"),
}


def check_packages(conf: Mapping[str, str], release: SparkRelease | None) -> Iterator[ConfProblem]:
    """Find packages that are missing or were built for another Spark or Scala version."""
    packages = [(key, name.strip()) for key in _JARS for name in conf.get(key, "").split(",") if name.strip()]
    listener_matches = [(key, match) for key, name in packages if (match := _LISTENER_PACKAGE.search(name))]
    if not listener_matches:
        remedy = f"add {release.listener}" if release else "add the listener's package"
        problem = "does not contain the listener; it must then be in Spark's jars directory"
        yield ConfProblem("spark.jars.packages", ProblemEffect.maybe_intended, problem, remedy)
    for key, match in listener_matches:
        scala, version = match.groups()
        yield from _check_listener_package(key, scala, version, release)
    for catalog, pattern in _FORMAT_PACKAGES.items():
        for key, name in packages:
            if (match := pattern.search(name)) and release:
                yield from _check_table_format(key, match[0], catalog, release)


def _check_listener_package(
    key: str, scala: str | None, version: str, release: SparkRelease | None
) -> Iterator[ConfProblem]:
    """Check the Scala version and the release of a listener package."""
    if scala is None:
        remedy = f"add {release.listener}" if release else "use openlineage-spark_2.12 or openlineage-spark_2.13"
        yield ConfProblem(key, ProblemEffect.events_lost, "contains the listener without a Scala version", remedy)
    elif release and scala != release.scala:
        problem = f"contains the listener for Scala {scala}, but Spark {release.name} uses Scala {release.scala}"
        yield ConfProblem(key, ProblemEffect.events_lost, problem, f"add {release.listener}")
    if version != LISTENER_VERSION:
        problem = f"contains listener {version}, but keys are checked against {LISTENER_VERSION}"
        yield ConfProblem(key, ProblemEffect.maybe_intended, problem, "check that it supports these keys")


def _check_table_format(
    key: str, artifact: str, catalog: TableFormat, release: SparkRelease
) -> Iterator[ConfProblem]:
    """Check that the package of a table format supports the Spark release."""
    package = release.package_or_none(catalog)
    if package is None:
        problem = f"contains {artifact}, but {catalog} has no release for Spark {release.name}"
        yield ConfProblem(key, ProblemEffect.events_lost, problem, f"remove it, or use {releases_with(catalog)}")
    elif artifact != package.split(":")[1]:
        yield ConfProblem(
            key,
            ProblemEffect.events_lost,
            f"contains {artifact}, which does not support Spark {release.name}",
            f"use {package}",
        )


#: A word with at least this similarity to another counts as a typo.
_MIN_SIMILARITY = 0.8


def check_conf(conf: Mapping[str, str], release: SparkRelease | None = None) -> list[ConfProblem]:
    """Find the problems of a conf, worst first; packages are also checked against the Spark release, if given."""
    listener_conf = {key.removeprefix(PREFIX): value for key, value in conf.items() if key.startswith(PREFIX)}
    accepted = accepted_keys(listener_conf)
    key_problems = [_check_key(key, value, listener_conf, accepted) for key, value in listener_conf.items()]
    problems = [
        *_check_unprefixed_keys(conf, accepted),
        *chain.from_iterable(key_problems),
        *_check_untyped_sections(accepted),
        *_check_transport("transport.", listener_conf),
        *_check_parent(listener_conf),
        *_check_listener_class(conf),
        *check_packages(conf, release),
    ]
    return sorted(problems, key=lambda problem: list(ProblemEffect).index(problem.effect))


def _check_unprefixed_keys(conf: Mapping[str, str], accepted: AcceptedKeys) -> Iterator[ConfProblem]:
    """Find keys that seem to be meant for the listener but lack its prefix."""
    for key in conf:
        if key.startswith(PREFIX):
            continue
        section, _, listener_key = key.removeprefix("spark.").partition(".")
        is_listener_section = difflib.SequenceMatcher(None, section.lower(), "openlineage").ratio() >= _MIN_SIMILARITY
        if is_listener_section and listener_key:
            suggestion = listener_key
            if find_key(listener_key, accepted.keys) is None:
                suggestion = nearest_key(listener_key, accepted.keys, _MIN_SIMILARITY) or listener_key
            yield ConfProblem(
                key, ProblemEffect.setting_ignored, f"does not begin with {PREFIX}", f"write {PREFIX}{suggestion}"
            )
        elif not key.startswith("spark."):
            suggestion = nearest_key(key, accepted.keys, _MIN_SIMILARITY) or ""
            remedy = f"write {PREFIX}{suggestion}" if suggestion else "prefix it with spark. or remove it"
            yield ConfProblem(key, ProblemEffect.setting_ignored, "does not begin with spark.", remedy)


def _check_key(
    key: str, value: str, listener_conf: Mapping[str, str], accepted: AcceptedKeys
) -> Iterator[ConfProblem]:
    """Find what is wrong with a listener key (without its prefix) or with its value."""
    name, spec = f"{PREFIX}{key}", find_key(key, accepted.keys)
    if spec is not None:
        if problem := value_problem(spec, value):
            yield ConfProblem(name, *problem, value_hint(spec))
        return
    # The listener rejects unknown keys of a nested transport and ignores all other unknown keys.
    is_nested = key.startswith(("transport.transports.", "transport.transport."))
    effect = ProblemEffect.events_lost if is_nested else ProblemEffect.setting_ignored
    parent_key = next((section for section in parent_sections(key) if find_key(section, accepted.keys)), None)
    if parent_key:
        yield ConfProblem(
            name,
            ProblemEffect.events_lost,
            f"extends {parent_key}, which is a value and not a section",
            _suggestion(key, accepted),
        )
    elif is_section(key, accepted.keys):
        yield ConfProblem(
            name, ProblemEffect.events_lost, "is a section and cannot have a value", _suggestion(f"{key}.", accepted)
        )
    elif _belongs_to_another_type(key, listener_conf):
        yield ConfProblem(name, effect, "belongs to another type", "remove it, or set the type that it belongs to")
    else:
        yield ConfProblem(name, effect, "is not a listener key", _suggestion(key, accepted))


def _belongs_to_another_type(key: str, listener_conf: Mapping[str, str]) -> bool:
    """Return whether a key is accepted for another type of its section; without types, all keys are accepted."""
    conf_without_types = {name: value for name, value in listener_conf.items() if not name.endswith(".type")}
    return find_key(key, accepted_keys(conf_without_types).keys) is not None


def _suggestion(key: str, accepted: AcceptedKeys) -> str:
    return f"did you mean {PREFIX}{nearest_key(key, accepted.keys)}?"


def _check_untyped_sections(accepted: AcceptedKeys) -> Iterator[ConfProblem]:
    for prefix in accepted.untyped_sections:
        choices = accepted.keys[f"{prefix}type"].choices
        yield ConfProblem(
            f"{PREFIX}{prefix}type", ProblemEffect.events_lost, "is missing, but other keys of its section are set",
            f"set it to {' or '.join(choices)}",
        )  # fmt: skip


_DESTINATION_KEYS = {"http": "url", "file": "location", "kafka": "topicName"}


def _check_transport(prefix: str, listener_conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Find the reasons why a transport could not deliver events."""
    kind = listener_conf.get(f"{prefix}type", "").lower()
    name = f"{PREFIX}{prefix}"
    if not any(key.startswith(prefix) for key in listener_conf):
        yield ConfProblem(
            f"{name}type",
            ProblemEffect.events_lost,
            "is missing: events go to the log only",
            "set it to http or file",
        )
    elif kind == "console":
        yield ConfProblem(
            f"{name}type", ProblemEffect.maybe_intended, "is console: events go to the log only", "use http or file"
        )
    destination_key = _DESTINATION_KEYS.get(kind)
    if destination_key is not None and f"{prefix}{destination_key}" not in listener_conf:
        yield ConfProblem(
            f"{name}{destination_key}",
            ProblemEffect.events_lost,
            "is missing",
            f"set the destination of the {kind} transport",
        )
    if kind == "file" and not listener_conf.get(f"{prefix}location", "/").strip().startswith("/"):
        problem = "is not an absolute path: it depends on the driver's working directory; a bare name is ignored"
        yield ConfProblem(f"{name}location", ProblemEffect.events_lost, problem, "use an absolute path")
    if kind == "http":
        yield from _check_http_transport(prefix, listener_conf)
    if kind == "composite":
        yield from _check_composite_transport(prefix, listener_conf)


def _check_composite_transport(prefix: str, listener_conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Check the inner transports of a composite transport, and their order."""
    section = f"{prefix}transports."
    inner_keys = [key.removeprefix(section) for key in listener_conf if key.startswith(section)]
    inner_names = sorted({key.partition(".")[0] for key in inner_keys})
    if not inner_names:
        yield ConfProblem(
            f"{PREFIX}{prefix}transports",
            ProblemEffect.events_lost,
            "are missing",
            f"write {PREFIX}{section}<name>.type",
        )
    for inner_name in inner_names:
        yield from _check_transport(f"{section}{inner_name}.", listener_conf)
    kinds = [listener_conf.get(f"{section}{inner_name}.type", "").lower() for inner_name in inner_names]
    yield from _check_transport_order(prefix, kinds, listener_conf)


def _check_transport_order(prefix: str, kinds: list[str], listener_conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Warn about a file transport that is skipped if an HTTP transport before it fails.

    Transports run in the order of their names.
    """
    # If either of these settings is false, the transports after a failed one are skipped.
    continues_after_failure = all(
        listener_conf.get(f"{prefix}{key}", "true").strip().lower() != "false"
        for key in ("withThreadPool", "continueOnFailure")
    )
    kinds_before_file = kinds[: kinds.index("file")] if "file" in kinds else []
    if not continues_after_failure and "http" in kinds_before_file:
        problem = "run in order of their names, HTTP before file: the file misses events that HTTP failed to send"
        yield ConfProblem(
            f"{PREFIX}{prefix}transports",
            ProblemEffect.maybe_intended,
            problem,
            "rename the file transport so that it comes first",
        )


def _check_http_transport(prefix: str, listener_conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Find missing credentials, and paths in the URL that the listener does not use as intended."""
    name = f"{PREFIX}{prefix}"
    auth = listener_conf.get(f"{prefix}auth.type")
    required_keys = ["apiKey"] if auth else []
    if auth == "jwt":
        required_keys.append("tokenEndpoint")
    for required_key in required_keys:
        if not listener_conf.get(f"{prefix}auth.{required_key}", "").strip():
            yield ConfProblem(
                f"{name}auth.{required_key}",
                ProblemEffect.events_lost,
                "is missing, but auth.type is set",
                f"set {required_key}",
            )
    path = _url_path(listener_conf.get(f"{prefix}url", ""))
    if not path:
        return
    if prefix == "transport.":
        if path != "/" and not path.startswith("/api/v1"):
            remedy = f"remove the path and set {name}endpoint to {path.rstrip('/')}/api/v1/lineage"
            yield ConfProblem(
                f"{name}url", ProblemEffect.events_lost, "has a path, which the listener ignores", remedy
            )
    elif f"{prefix}endpoint" in listener_conf:
        yield ConfProblem(
            f"{name}endpoint",
            ProblemEffect.events_lost,
            "is set, but the url also has a path",
            "remove the path from the url",
        )
    elif not path.endswith("/lineage"):
        remedy = "remove path and slash, or use the full path ending in /api/v1/lineage"
        yield ConfProblem(
            f"{name}url",
            ProblemEffect.events_lost,
            "has a partial path; inside a composite transport the path must be complete",
            remedy,
        )


def _url_path(url: str) -> str:
    try:
        return urlsplit(url).path if "://" in url else ""
    except ValueError:
        return ""


def _check_parent(listener_conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    """Find parents of which only some of namespace, name and run id are set."""
    for prefix in ("parent", "rootParent"):
        keys = [f"{prefix}JobNamespace", f"{prefix}JobName", f"{prefix}RunId"]
        missing_keys = [f"{PREFIX}{key}" for key in keys if not listener_conf.get(key, "").strip()]
        if 0 < len(missing_keys) < len(keys):
            remedy = "set all three: namespace, name and run"
            yield ConfProblem(
                missing_keys[0],
                ProblemEffect.setting_ignored,
                "is missing, but the rest of the parent is set",
                remedy,
            )


def _check_listener_class(conf: Mapping[str, str]) -> Iterator[ConfProblem]:
    classes = [name.strip() for name in conf.get("spark.extraListeners", "").split(",")]
    if LISTENER_CLASS not in classes:
        other_classes = [name for name in classes if name and "openlineage" not in name.lower()]
        remedy = f"set it to {','.join([*other_classes, LISTENER_CLASS])}"
        yield ConfProblem("spark.extraListeners", ProblemEffect.events_lost, "does not contain the listener", remedy)
    if conf.get(f"{PREFIX}disabled", "").strip().lower() == "true":
        yield ConfProblem(f"{PREFIX}disabled", ProblemEffect.events_lost, "disables the listener", "remove it")
