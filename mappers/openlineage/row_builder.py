"""Collects the rows and notes of one event."""

from enum import Enum
from typing import Any, NamedTuple

from mappers.canonical.identity import MAX_KEY_CHARACTERS, NO_ID, bounded_key, digest
from mappers.canonical.merge import Row
from mappers.canonical.rank import Rank, event_order, register_order
from mappers.canonical.rows import DatasetRow, FacetRow, JobRow, LineageEdgeRow, NamespaceRow
from mappers.naming import source_type
from mappers.openlineage.event import Event
from mappers.openlineage.facet_parser import F, ParsedFacet, facet_value
from mappers.openlineage.facets import DocumentationFacet, FacetOwner, OwnershipFacet
from mappers.openlineage.names import CanonicalEntity, canonical_dataset_name, canonical_job_name


def team_and_email(owners: list[FacetOwner] | None) -> tuple[str | None, str | None]:
    """Pick the first owner that is a team, and the first owner whose name is an email address."""
    team = next((owner.name for owner in owners or () if "team" in (owner.type or owner.name).lower()), None)
    email = next((owner.name for owner in owners or () if "@" in owner.name), None)
    return team, email


class DatasetRole(Enum):
    """The role of a dataset in an event."""

    INPUT = "input"
    OUTPUT = "output"
    DECLARED = "declared"
    DATASET_EVENT = "itself"

    @property
    def rank(self) -> Rank:
        return _RANKS[self]


_RANKS = {
    DatasetRole.INPUT: Rank.INPUT,
    DatasetRole.OUTPUT: Rank.OUTPUT,
    DatasetRole.DECLARED: Rank.JOB_EVENT,
    DatasetRole.DATASET_EVENT: Rank.OUTPUT,
}


class DatasetContext(NamedTuple):
    """The role of a dataset, and the run and job that the dataset belongs to."""

    role: DatasetRole
    run_id: bytes
    run_uuid: str
    job_id: bytes


#: Facets that only repeat other content, at many times its size.
DEFAULT_IGNORED_FACETS = frozenset({"spark.logicalPlan", "spark_unknown", "debug", "environment-properties"})

#: Jobs of `spark check`, whose events only prove that events arrive; `*` and `?` are wildcards.
DEFAULT_IGNORED_JOBS = ("lineage_bridge_check", "lineage_bridge_check.*")

#: Longer facets are not stored in rows of their own, because writing one would delay other events.
_MAX_FACET_CHARACTERS = 4 << 20

#: Prefix of facets that people assert; they outrank everything that programs report.
STEWARD_PREFIX = "lineageBridge_"


class MappingOptions(NamedTuple):
    """Options for mapping events."""

    org: str = "default"
    ignored_facets: frozenset[str] = DEFAULT_IGNORED_FACETS
    ignored_jobs: tuple[str, ...] = DEFAULT_IGNORED_JOBS
    max_rows: int = 50_000


class RowBuilder:
    """Builds the rows and notes of one event, and holds the values that all rows share."""

    def __init__(self, event: Event, options: MappingOptions) -> None:
        self.org = options.org
        self.ignored_facets = options.ignored_facets
        self.micros = event.micros
        self.event_hash = event.event_hash
        self.event_order = event_order(event.micros, event.event_hash)
        self.rows: list[Row] = []
        self._added_ids: set[bytes] = set()
        self.notes = list(event.notes)

    def assertion_order(self, rank: int, content: bytes) -> bytes:
        """Return the order of this event's assertion among all assertions for the same register."""
        return register_order(rank, self.micros, content)

    def asserted_facet(
        self, facet: ParsedFacet | None, facet_type: type[F], rank: int
    ) -> tuple[bytes, F | None] | None:
        """Return the order and the value (None if deleted) of a facet, or None if the facet is missing or invalid."""
        value = facet_value(facet, facet_type, self.notes)
        if facet is None or (value is None and facet.body is not None):
            return None
        return self.assertion_order(rank, facet.digest), value

    def bounded_key(self, text: str, description: str) -> str:
        """Truncate text that exceeds the maximum key length of the stores, and add a note."""
        if len(text) > MAX_KEY_CHARACTERS:
            self.notes.append(f"{description} has {len(text)} characters: truncated, with a hash of the full text")
        return bounded_key(text)

    def documentation_and_owner_columns(self, facets: dict[str, ParsedFacet], rank: int) -> dict[str, Any]:
        """Return the columns for description and owners, which datasets and jobs have in common."""
        columns: dict[str, Any] = {}
        if (documentation := self.asserted_facet(facets.get("documentation"), DocumentationFacet, rank)) is not None:
            order, documentation_facet = documentation
            description = documentation_facet.description if documentation_facet else None
            columns |= {"documentation_order": order, "description": description}
        if (ownership := self.asserted_facet(facets.get("ownership"), OwnershipFacet, rank)) is not None:
            order, ownership_facet = ownership
            team, email = team_and_email(ownership_facet.owners if ownership_facet else None)
            columns |= {"ownership_order": order, "owner_team": team, "owner_email": email}
        return columns

    def add_namespace(self, entity: CanonicalEntity) -> None:
        """Add the namespace of a dataset or job unless this event has already added it."""
        if entity.namespace_id not in self._added_ids:
            self._added_ids.add(entity.namespace_id)
            self.rows.append(NamespaceRow(self.org, entity.namespace_id, entity.namespace, self.micros))

    def reference_dataset(self, namespace: str, name: str) -> CanonicalEntity:
        """Add a dataset that the event only refers to."""
        entity = canonical_dataset_name(self.org, namespace, name)
        if entity.id not in self._added_ids:
            self.add_namespace(entity)
            self.rows.append(self.dataset_row(entity))
        return entity

    def dataset_row(self, entity: CanonicalEntity, **columns: Any) -> DatasetRow:
        """Build the row of a dataset, which the caller adds."""
        self._added_ids.add(entity.id)
        return DatasetRow(
            self.org,
            entity.id,
            entity.namespace_id,
            entity.name,
            source_type(entity.namespace),
            self.micros,
            self.micros,
            **columns,
        )

    def reference_job(self, namespace: str, name: str) -> CanonicalEntity:
        """Add a job that the event only refers to."""
        entity = canonical_job_name(self.org, namespace, name)
        if entity.id not in self._added_ids:
            self.add_namespace(entity)
            self.rows.append(self.job_row(entity))
        return entity

    def job_row(self, entity: CanonicalEntity, **columns: Any) -> JobRow:
        """Build the row of a job, which the caller adds."""
        self._added_ids.add(entity.id)
        return JobRow(self.org, entity.id, entity.namespace_id, entity.name, self.micros, self.micros, **columns)

    def add_facets(
        self,
        owner_id: bytes,
        facets: dict[str, ParsedFacet],
        rank: int,
        *,
        about_id: bytes = NO_ID,
        prefix: str = "",
        stored_in_columns: frozenset[str] = frozenset(),
    ) -> None:
        """Add facets as raw JSON, except ignored facets and the facets in `stored_in_columns`."""
        for facet in facets.values():
            is_stored_in_columns = facet.name in stored_in_columns and facet.body is not None
            if facet.name in self.ignored_facets or is_stored_in_columns:
                continue
            if facet.body is not None and len(facet.body) > _MAX_FACET_CHARACTERS:
                self.notes.append(
                    f"facet {facet.name[:128]} has {len(facet.body)} characters: kept only in the event"
                )
                continue
            facet_rank = Rank.STEWARD if facet.name.startswith(STEWARD_PREFIX) else rank
            order = self.assertion_order(facet_rank, facet.digest)
            name = self.bounded_key(prefix + facet.name, "facet name")
            self.rows.append(FacetRow(self.org, owner_id, about_id, name, order, facet.body))

    def add_edge(
        self,
        role: str,
        source: tuple[str, bytes],
        target: tuple[str, bytes],
        job_id: bytes,
        evidence: str,
        *,
        meta: bytes | None = None,
        declared_io: bytes | None = None,
        declared_lineage: bytes | None = None,
    ) -> None:
        """Add an edge between two nodes, each as (type, id)."""
        (source_type, source_id), (target_type, target_id) = source, target
        self.rows.append(
            LineageEdgeRow(
                self.org,
                source_id,
                target_id,
                role,
                job_id,
                evidence,
                source_type,
                target_type,
                self.micros,
                self.micros,
                self.assertion_order(0, digest(meta)) if meta else None,
                meta.decode() if meta else None,
                declared_io,
                declared_lineage,
            )
        )
