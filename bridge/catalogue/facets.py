"""Facets as they were sent."""

import msgspec

from bridge.catalogue.question import View
from mappers.canonical.identity import NOBODY

_FACETS = """
SELECT name, body FROM facet WHERE org_id = ?1 AND owner_id = ?2 AND about_id = ?3 ORDER BY name
"""


def facets_of(view: View, owner: bytes) -> dict[str, msgspec.Raw]:
    """Give the facets of a job or run."""
    return raw_facets(view.db.rows(_FACETS, view.org, owner, NOBODY))


def raw_facets(rows: list[tuple[str, str | None]]) -> dict[str, msgspec.Raw]:
    """Give the facets that are not deleted, of several of one name the last."""
    return {name: msgspec.Raw(body.encode()) for name, body in sorted(dict(rows).items()) if body is not None}
