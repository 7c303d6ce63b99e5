"""The statements one event makes, collected while its parts are mapped."""

from typing import Any, NamedTuple

from mappers.canonical import identity
from mappers.canonical.bounded import MOST_CHARACTERS, bounded
from mappers.canonical.facts import Dataset, Facet, Job, LineageEdge, Namespace
from mappers.canonical.identity import NOBODY, digest
from mappers.canonical.merge import Row
from mappers.canonical.order import Rank, moment, order
from mappers.memory import remembered
from mappers.naming import canonical_namespace, source_type
from mappers.openlineage.event import Event
from mappers.openlineage.facets import Documentation, Ownership
from mappers.openlineage.listener import repair_path
from mappers.openlineage.owners import split_owners
from mappers.openlineage.parts import F, FacetPart, understand

#: Facets that repeat what is said elsewhere, at many times its size.
DEFAULT_NOISE = frozenset({"spark.logicalPlan", "spark_unknown", "debug", "environment-properties"})

#: Facets of what people assert; they outrank everything that machines observe.
STEWARD_PREFIX = "lineageBridge_"


class Rules(NamedTuple):
    """What the mapping of an event depends on besides the event."""

    org: str = "default"
    noise: frozenset[str] = DEFAULT_NOISE


class Named(NamedTuple):
    """A dataset or job with its ids and its one spelling."""

    id: bytes
    namespace_id: bytes
    namespace: str
    name: str


@remembered(1 << 15)
def name_dataset(org: str, namespace: str, name: str) -> Named:
    """Find the ids of a dataset, its name repaired and its namespace in the one spelling."""
    namespace, name = canonical_namespace(namespace), repair_path(name)
    return Named(identity.dataset_id(org, namespace, name), identity.namespace_id(org, namespace), namespace, name)


@remembered(1 << 15)
def name_job(org: str, namespace: str, name: str) -> Named:
    """Find the ids of a job."""
    return Named(identity.job_id(org, namespace, name), identity.namespace_id(org, namespace), namespace, name)


class Statements:
    """Rows and notes of one event, with what all of them share."""

    def __init__(self, event: Event, rules: Rules) -> None:
        self.org = rules.org
        self.noise = rules.noise
        self.micros = event.micros
        self.event_hash = event.event_hash
        self.moment = moment(event.micros, event.event_hash)
        self.rows: list[Row] = []
        self._stated: set[bytes] = set()
        self.notes = list(event.notes)

    def order(self, rank: int, content: bytes) -> bytes:
        """Order a statement of this event among all others about the same cell."""
        return order(rank, self.micros, content)

    def register(self, part: FacetPart | None, shape: type[F], rank: int) -> tuple[bytes, F | None] | None:
        """Give a facet's order and content (None when deleted); None when there is nothing to state."""
        value = understand(part, shape, self.notes)
        if part is None or (value is None and part.body is not None):
            return None
        return self.order(rank, part.digest), value

    def key(self, text: str, what: str) -> str:
        """Give a text as the stores can sort by it, with a note when it had to be cut for that."""
        if len(text) > MOST_CHARACTERS:
            self.notes.append(f"{what} has {len(text)} characters: cut, with a hash of the whole")
        return bounded(text)

    def described(self, facets: dict[str, FacetPart], rank: int) -> dict[str, Any]:
        """Give the columns for description and owners, of a dataset's row as of a job's."""
        columns: dict[str, Any] = {}
        if (documentation := self.register(facets.get("documentation"), Documentation, rank)) is not None:
            columns["documentation_order"], text = documentation
            columns["description"] = text.description if text else None
        if (ownership := self.register(facets.get("ownership"), Ownership, rank)) is not None:
            columns["ownership_order"], owners = ownership
            columns["owner_team"], columns["owner_email"] = split_owners(owners.owners if owners else None)
        return columns

    def namespace(self, named: Named) -> None:
        """State that a namespace exists; once an event is enough."""
        if named.namespace_id not in self._stated:
            self._stated.add(named.namespace_id)
            self.rows.append(Namespace(self.org, named.namespace_id, named.namespace, self.micros))

    def mention(self, namespace: str, name: str) -> Named:
        """State that a dataset of this name exists."""
        named = name_dataset(self.org, namespace, name)
        if named.id not in self._stated:
            self.namespace(named)
            self.rows.append(self.dataset_row(named))
        return named

    def dataset_row(self, named: Named) -> Dataset:
        """Start the row of a dataset."""
        self._stated.add(named.id)
        return Dataset(
            self.org,
            named.id,
            named.namespace_id,
            named.name,
            source_type(named.namespace),
            self.micros,
            self.micros,
        )

    def job(self, namespace: str, name: str) -> Named:
        """State that a job of this name exists."""
        named = name_job(self.org, namespace, name)
        if named.id not in self._stated:
            self.namespace(named)
            self.rows.append(self.job_row(named))
        return named

    def job_row(self, named: Named) -> Job:
        """Start the row of a job."""
        self._stated.add(named.id)
        return Job(self.org, named.id, named.namespace_id, named.name, self.micros, self.micros)

    def facets(
        self,
        owner: bytes,
        parts: dict[str, FacetPart],
        rank: int,
        *,
        about: bytes = NOBODY,
        prefix: str = "",
        read: frozenset[str] = frozenset(),
    ) -> None:
        """Keep facets raw: all but noise and those whose content the store has in columns (`read`)."""
        for part in parts.values():
            if part.name in self.noise or (part.name in read and part.body is not None):
                continue
            weight = Rank.STEWARD if part.name.startswith(STEWARD_PREFIX) else rank
            name = self.key(prefix + part.name, "the name of a facet")
            self.rows.append(Facet(self.org, owner, about, name, self.order(weight, part.digest), part.body))

    def edge(
        self,
        role: str,
        source: tuple[str, bytes],
        target: tuple[str, bytes],
        job: bytes,
        evidence: str,
        *,
        meta: bytes | None = None,
        declared_io: bytes | None = None,
        declared_lineage: bytes | None = None,
    ) -> None:
        """State an edge from source to target, each given as (type, id)."""
        self.rows.append(
            LineageEdge(
                self.org,
                source[1],
                target[1],
                role,
                job,
                evidence,
                source[0],
                target[0],
                self.micros,
                self.micros,
                self.order(0, digest(meta)) if meta else None,
                meta.decode() if meta else None,
                declared_io,
                declared_lineage,
            )
        )
