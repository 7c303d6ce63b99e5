"""Which tables and views are asked for: the catalogue, the OpenLineage part, or both."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from bridge.warehouse.catalogue import CATALOGUE
from bridge.warehouse.lineage import CATALOGUE_VIEWS, OPENLINEAGE_VIEWS
from bridge.warehouse.openlineage import OPENLINEAGE
from mappers.errors import ConfigError


class Part(NamedTuple):
    """Tables, parents before children, and the queries of views on them."""

    tables: tuple[sa.Table, ...]
    views: dict[str, sa.Select[Any]]


def part_of(*, openlineage: bool = False, openlineage_only: bool = False) -> Part:
    """Read the two options of the commands."""
    if openlineage and openlineage_only:
        raise ConfigError("say --openlineage or --openlineage-only, not both")
    if openlineage_only:
        return Part(OPENLINEAGE, OPENLINEAGE_VIEWS)
    if openlineage:
        return Part((*CATALOGUE, *OPENLINEAGE), CATALOGUE_VIEWS | OPENLINEAGE_VIEWS)
    return Part(CATALOGUE, CATALOGUE_VIEWS)
