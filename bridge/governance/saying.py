"""What is new of what assets say of a dataset, against what the store says of it already."""

from collections.abc import Collection
from typing import Any

import structlog

from bridge.governance.combined import Facets
from bridge.governance.matching import Name
from bridge.store.said import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA
from mappers.governance.facet import FILE, facet_of, fields_of, file_of
from mappers.governance.merge import merge
from mappers.when import LAST_MICROS, iso

_log = structlog.get_logger()

#: All that assets say of datasets.
FACETS = (GOVERNANCE, CONTRACT, EXPECTATIONS, SLA)


def can_be_said(name: Name, last: int) -> bool:
    """Tell whether there is a time after the last word of a dataset: somebody may have spoken at the end of times."""
    if last < LAST_MICROS:
        return True
    _log.warning("nothing can be said after what was said of a dataset", dataset=" ".join(name), at=iso(last))
    return False


def new_facets(facets: Facets, before: Facets, ours: Collection[str]) -> dict[str, dict[str, Any] | None]:
    """Give the facets that are to be sent; of one in which OpenMetadata changed something, that stays.

    What no asset says is taken back only where one said it: of promises and checks others may speak as well.
    """
    new: dict[str, dict[str, Any] | None] = {}
    for name in FACETS:
        said, known = facets.get(name), before.get(name)
        if said is None and name not in ours:
            continue
        if said == (file_of(known) if known and name == GOVERNANCE else known):
            continue
        new[name] = _merged(said, known) if said and known and FILE in known else said
    return new


def _merged(said: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Bring what a file says now together with what OpenMetadata changed since it said otherwise; the file wins."""
    fields = merge(fields_of(file_of(known)), fields_of(said), fields_of(known), "local").fields
    facet = facet_of(fields, said)
    return facet if facet == said else {**facet, FILE: said}
