"""Gives versions up whose files shall be removed: those that somebody needs are held."""

from collections.abc import Iterable
from typing import NamedTuple

from bridge.registry.registry import Registry
from bridge.registry.versions import WHOLE, Version


class GivenUp(NamedTuple):
    """Versions that are not to be read any more, and why others are kept."""

    discarded: list[Version]
    held: dict[str, list[str]]


def discard(registry: Registry, dataset: bytes, versions: Iterable[Version], reason: str, by: str) -> GivenUp:
    """Mark versions as not to be read, but those that are published or pinned; in a transaction that decides.

    Of those that are marked already the reason stays: it was somebody's.
    """
    held = registry.held()
    given_up = GivenUp([], {})
    for version in versions:
        if version.id in held:
            given_up.held[version.tag] = held[version.id]
            continue
        if WHOLE not in version.invalid:
            registry.invalidation.mark(dataset, version, reason, by)
        given_up.discarded.append(version)
    return given_up
