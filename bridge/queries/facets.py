"""Facets of a job or run as they were received."""

from collections.abc import Mapping

import msgspec

from bridge.queries.query import QueryContext
from mappers.canonical.identity import NO_ID
from mappers.openlineage.facets import OwnershipFacet

_FACETS = """
SELECT name, body FROM facet WHERE org_id = ?1 AND owner_id = ?2 AND about_id = ?3 ORDER BY name
"""


def read_received_facets(ctx: QueryContext, owner: bytes) -> dict[str, msgspec.Raw]:
    return latest_facets(ctx.db.fetch_all(_FACETS, ctx.org, owner, NO_ID))


def latest_facets(rows: list[tuple[str, str | None]]) -> dict[str, msgspec.Raw]:
    """Return facets by name. Of several rows with one name, the last one counts; a null body means deleted."""
    latest_bodies = dict(rows)
    return {name: msgspec.Raw(body.encode()) for name, body in sorted(latest_bodies.items()) if body is not None}


def owner_names(facets: Mapping[str, msgspec.Raw]) -> list[str]:
    """List the owners in the ownership facet. A malformed facet has no owners."""
    try:
        ownership = msgspec.json.decode(facets["ownership"], type=OwnershipFacet) if "ownership" in facets else None
    except msgspec.ValidationError:
        return []
    return [owner.name for owner in (ownership.owners or ())] if ownership else []
