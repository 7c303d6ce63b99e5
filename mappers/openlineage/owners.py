"""Owners as the catalogue shows them: one team, one address."""

from mappers.openlineage.facets import Owner


def split_owners(owners: list[Owner] | None) -> tuple[str | None, str | None]:
    """Pick the first team and the first address, whatever the producer calls their type."""
    team = next((o.name for o in owners or () if "team" in (o.type or o.name).lower()), None)
    email = next((o.name for o in owners or () if "@" in o.name), None)
    return team, email
