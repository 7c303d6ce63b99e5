"""A dataset: what is known of it, under all of its names."""

from typing import Any

import msgspec

from bridge.catalogue.facets import raw_facets
from bridge.catalogue.question import View
from bridge.catalogue.things import AboutDataset, Thing, thing, write_id
from bridge.catalogue.version import Version, newest_versions
from bridge.store.graph import Named
from bridge.store.owners import owners_of
from bridge.store.said import GOVERNANCE, promises_of, said_of
from mappers.canonical.identity import NOBODY
from mappers.columns import listed
from mappers.governance.facet import FILE

_DATASET = """
SELECT d.full_name, d.description, d.default_format, d.status, d.created_at, d.updated_at FROM dataset d
WHERE d.org_id = ?1 AND d.dataset_id = ?2
"""
_ALIASES = """
SELECT m.dataset_id, n.namespace_uri, m.name FROM ol_dataset m
JOIN ol_namespace n ON n.org_id = m.org_id AND n.namespace_id = m.namespace_id
WHERE m.org_id = ?1 AND m.class_id = ?2 AND m.dataset_id <> ?2
ORDER BY n.namespace_uri, m.name
"""
_SCHEMA = "SELECT columns_json FROM class_schema WHERE org_id = ?1 AND class_id = ?2"
_FACETS = """
SELECT f.name, f.body FROM facet f
JOIN ol_dataset m ON m.org_id = f.org_id AND m.dataset_id = f.owner_id
WHERE f.org_id = ?1 AND m.class_id = ?2 AND f.about_id = ?3
ORDER BY f.facet_order
"""
_RENAMED = """
SELECT d.class_id FROM dataset_succession s
JOIN ol_dataset m ON m.org_id = s.org_id AND m.dataset_id = s.{mine}_id
JOIN ol_dataset d ON d.org_id = s.org_id AND d.dataset_id = s.{other}_id
WHERE s.org_id = ?1 AND m.class_id = ?2
GROUP BY d.class_id
"""
_SHOWN_VERSIONS = 5


class Field(msgspec.Struct, frozen=True):
    """A column; nested ones have their whole path as name, and their depth."""

    name: str
    type: str | None
    description: str | None
    depth: int


class DatasetAnswer(Thing, frozen=True):
    """What is known of a dataset, and its newest versions."""

    full_name: str
    description: str | None
    format: str | None
    owners: list[str]
    status: str
    created_at: str
    updated_at: str
    aliases: list[Thing]
    renamed_from: list[Thing]
    renamed_to: list[Thing]
    fields: list[Field]
    sla: dict[str, Any] | None
    #: What a steward wrote down of it.
    governance: dict[str, Any] | None
    facets: dict[str, msgspec.Raw]
    versions: list[Version]


class Dataset(AboutDataset[DatasetAnswer], frozen=True, kw_only=True):
    """What is known of a dataset, and its newest versions."""

    answer = DatasetAnswer

    def answered(self, view: View) -> DatasetAnswer:
        """Look it up."""
        dataset = self.dataset(view)
        named = view.graph().dataset(dataset)
        bound = (view.org, dataset)
        governance = said_of(view.db, view.org, [dataset], GOVERNANCE).get(dataset) or {}
        owners = owners_of(view.db, view.org, [dataset]).get(dataset, [])
        ((full_name, description, format_, status, created, updated),) = view.db.rows(_DATASET, *bound)
        return DatasetAnswer(
            id=write_id(dataset),
            namespace=named.namespace,
            name=named.name,
            full_name=full_name,
            description=governance.get("description") or description,
            format=format_,
            owners=governance.get("owners") or owners,
            status=status,
            created_at=created,
            updated_at=updated,
            aliases=[thing(alias, Named(*name)) for alias, *name in view.db.rows(_ALIASES, *bound)],
            renamed_from=_renamed(view, dataset, "target", "source"),
            renamed_to=_renamed(view, dataset, "source", "target"),
            fields=[Field(*row) for (columns,) in view.db.rows(_SCHEMA, *bound) for row in listed(columns)],
            sla=promises_of(view.db, view.org, [dataset]).get(dataset),
            governance={key: value for key, value in governance.items() if key != FILE} or None,
            facets=raw_facets(view.db.rows(_FACETS, *bound, NOBODY)),
            versions=newest_versions(view, dataset, _SHOWN_VERSIONS),
        )


def _renamed(view: View, dataset: bytes, mine: str, other: str) -> list[Thing]:
    others = [other_id for (other_id,) in view.db.rows(_RENAMED.format(mine=mine, other=other), view.org, dataset)]
    names = view.graph().datasets(others)
    return sorted((thing(one, names[one]) for one in others), key=lambda one: (one.namespace, one.name))
