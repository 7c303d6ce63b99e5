"""Asks, before a job runs, whether anybody answers where a conf sends its events."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from connectors.openlineage.http import EventClient
from connectors.spark.findings import NOBODY_ANSWERS, Effect, Finding
from connectors.spark.keys import Kind, Value
from connectors.spark.symptoms import places
from connectors.spark.values import wrong_value
from mappers.errors import Unreachable

_TAKES_EVENTS = "/api/v1/lineage"


def ask_services(conf: Mapping[str, str]) -> Iterator[Finding]:
    """Ask every service that a conf sends events to."""
    for key in places(conf, "http", "url"):
        if wrong_value(Value(Kind.url), url := conf[key]):
            continue
        try:
            with EventClient(_base(url, conf.get(f"{key.removesuffix('url')}endpoint", ""))) as service:
                status = service.readiness()
        except Unreachable:
            yield Finding(key, Effect.silent, *NOBODY_ANSWERS)
            continue
        if status == 503:
            yield Finding(key, Effect.silent, "is of a service that is not ready", "its /readyz says why")


def _base(url: str, endpoint: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}{(endpoint or parts.path).rstrip('/').removesuffix(_TAKES_EVENTS)}"
