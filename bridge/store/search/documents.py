"""Builds the search document of each dataset and job."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from bridge.store.database import Database
from bridge.store.governance_facets import GOVERNANCE
from bridge.store.identity_groups import group_ids
from bridge.store.run_history import IS_STEP_SQL
from bridge.store.search import tokens
from mappers.canonical.identity import NO_ID

_COLUMNS = "SELECT class_id, columns_json FROM class_schema WHERE org_id = ?1 AND class_id {ids}"
_FACETS = """
SELECT owner_id, name, body FROM facet
WHERE org_id = ?1 AND owner_id {ids} AND about_id = ?2 AND body IS NOT NULL
  AND name IN ('tags', 'ownership', 'lineageBridge_governance')
"""
_REQUESTS = """
SELECT dataset_id, request_order, request_json FROM dataset_registration
WHERE org_id = ?1 AND dataset_id {ids} AND status <> 'REJECTED' AND request_json IS NOT NULL
"""


class RelatedFacts(NamedTuple):
    """What belongs to members, by their ids; columns by that of their class."""

    columns: dict[bytes, list[dict[str, Any]]]
    tags: dict[bytes, list[tuple[str, str]]]
    owners: dict[bytes, list[str]]
    categories: dict[bytes, tuple[bytes, str]]
    #: What stewards say, which goes before what anybody else says.
    governance: dict[bytes, dict[str, Any]]


def read_related_facts(db: Database, org: str, classes: list[bytes], ids: list[bytes]) -> RelatedFacts:
    """Read what belongs to classes of datasets, and to members and jobs by their ids."""
    around = RelatedFacts({}, {}, {}, {}, {})
    for class_id, columns in db.fetch_for_ids(_COLUMNS, classes, org):
        around.columns[class_id] = msgspec.json.decode(columns)
    for owner, name, body in db.fetch_for_ids(_FACETS, ids, org, NO_ID):
        said = msgspec.json.decode(body)
        if name == "tags":
            around.tags.setdefault(owner, []).extend(_tags(said))
        elif name == GOVERNANCE:
            around.governance[owner] = said
            around.tags.setdefault(owner, []).extend((word, "") for word in governance_terms(said))
            around.owners.setdefault(owner, []).extend(_text_list(said, "owners"))
        else:
            around.owners.setdefault(owner, []).extend(
                [text for one in _objects(said, "owners") if (text := _text(one, "name"))]
            )
    for dataset, order, request in db.fetch_for_ids(_REQUESTS, ids, org):
        if category := _text(msgspec.json.decode(request), "category"):
            around.categories[dataset] = max(around.categories.get(dataset, (b"", "")), (order, category))
    return around


def _objects(body: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """Give the objects of a list in a facet, which is kept as it was sent, whatever its shape."""
    listed = body.get(key)
    return (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else iter(())


def governance_terms(said: dict[str, Any]) -> list[str]:
    """Give the words by which a steward lets a dataset be found: tags, classifications, terms, domain, products."""
    several = [
        word for key in ("tags", "classifications", "glossaryTerms", "dataProducts") for word in _text_list(said, key)
    ]
    return several + [word for key in ("domain", "tier", "certification") if (word := _text(said, key))]


def _text_list(body: dict[str, Any], key: str) -> list[str]:
    listed = body.get(key)
    return [word for word in listed if isinstance(word, str)] if isinstance(listed, list) else []


def _text(body: dict[str, Any], key: str) -> str:
    found = body.get(key)
    return found.strip() if isinstance(found, str) else ""


def _tags(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the tags of a dataset or job and of its columns, each with its value, if that says more than yes."""
    for tag in _objects(body, "tags"):
        if key := _text(tag, "key"):
            said = _text(tag, "value")
            yield key, "" if said.lower() == "true" else said


_MEMBERS = """
SELECT d.class_id, d.dataset_id, n.namespace_uri, d.name, d.is_active, d.documentation_order, d.description,
  d.storage_order, d.default_format, d.owner_team, d.owner_email
FROM ol_dataset d JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id {ids}
"""
_JOBS = f"""
SELECT j.job_id, j.job_id, n.namespace_uri, j.name, TRUE, NULL, j.description, NULL, NULL, j.owner_team, j.owner_email
FROM ol_job j JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {{ids}} AND NOT {IS_STEP_SQL}
"""
#: An answer shows the beginning of a description, and a few of very many owners or tags.
_SHOWN_CHARACTERS, _SHOWN_VALUES = 1_000, 100
#: Longer names are sorted by their beginnings, then by id: an index of PostgreSQL takes no longer keys.
_SORTED_CHARACTERS = 250


class HitContent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an answer says of an entry, beside its kind and id; what is not known takes no room."""

    namespace: str
    name: str
    description: str | None = None
    owners: list[str] = []
    tags: list[str] = []
    format: str | None = None
    category: str | None = None
    active: bool = True


class SearchDocument(NamedTuple):
    """An entry of the index: what it is sorted by, what an answer shows of it, and the tokens that find it."""

    kind: str
    id: bytes
    sort_key: bytes
    hit_json: str
    words: str


class _Member(NamedTuple):
    """A name of a dataset, or a job, and what is told under it."""

    entry: bytes
    id: bytes
    namespace: str
    name: str
    active: bool
    documentation_order: bytes | None
    description: str | None
    storage_order: bytes | None
    format: str | None
    team: str | None
    email: str | None


def build_documents(db: Database, org: str, ids: Collection[bytes]) -> Iterator[SearchDocument]:
    """Compute the entries of the datasets and jobs among these ids: one for each class of names."""
    classes = set(group_ids(db, org, ids).values())
    members = [_Member._make(row) for row in db.fetch_for_ids(_MEMBERS, sorted(classes), org)]
    jobs = [_Member._make(row) for row in db.fetch_for_ids(_JOBS, sorted(set(ids)), org)]
    around = read_related_facts(db, org, sorted(classes), [one.id for one in (*members, *jobs)])
    known: dict[bytes, list[_Member]] = {}
    for member in (*members, *jobs):
        known.setdefault(member.entry, []).append(member)
    for entry, names in sorted(known.items()):
        yield _document("dataset" if entry in classes else "job", entry, sorted(names), around)


def _document(kind: str, entry: bytes, names: list[_Member], around: RelatedFacts) -> SearchDocument:
    head = next(member for member in names if member.id == entry)
    tags = sorted({tag for member in names for tag in around.tags.get(member.id, ())})
    owners = {owner for member in names for owner in around.owners.get(member.id, ())}
    owners.update(owner for member in names for owner in (member.team, member.email) if owner)
    governed = next((around.governance[member.id] for member in names if member.id in around.governance), {})
    shown = HitContent(
        head.namespace,
        head.name,
        governed.get("description") or _newest((one.documentation_order, one.description) for one in names),
        sorted(owners),
        [f"{key}:{said}" if said else key for key, said in tags],
        _newest((member.storage_order, member.format) for member in names) or None,
        governed.get("category") or _category(names, tags, around),
        bool(head.active),
    )
    words = _document_tokens(kind, names, shown, around.columns.get(entry, []), [key for key, _ in tags])
    return SearchDocument(kind, entry, _sort_key(head), _hit(shown), " ".join(words))


def _newest(values: Iterable[tuple[bytes | None, str | None]]) -> str | None:
    """Pick a register's value over all names of a dataset; a job has one, and orders nothing."""
    said = [(order or b"", value or "") for order, value in values]
    return max(said)[1] or None


def _category(names: list[_Member], tags: list[tuple[str, str]], around: RelatedFacts) -> str | None:
    """Take the category of the newest registration, else the one that a tag of that name gives."""
    asked = [around.categories[member.id] for member in names if member.id in around.categories]
    if asked:
        return max(asked)[1]
    return next((said for key, said in tags if key.lower() == "category" and said), None)


def _document_tokens(
    kind: str, names: list[_Member], shown: HitContent, columns: list[dict[str, Any]], keys: list[str]
) -> list[str]:
    exact = {token for member in names for token in tokens.names(member.namespace, member.name)}
    filters = {tokens.namespace_token(member.namespace) for member in names}
    filters.add(tokens.value(tokens.KIND, kind))
    filters.update(tokens.value(tokens.OWNER, owner) for owner in shown.owners)
    filters.update(tokens.value(tokens.TAG, tag) for tag in (*shown.tags, *keys))
    one = ((tokens.CATEGORY, shown.category), (tokens.FORMAT, shown.format))
    filters.update(tokens.value(letter, value) for letter, value in one if value)
    called = [member.name for member in names]
    texts = (
        *called,
        *(member.namespace for member in names),
        shown.description or "",
        *shown.tags,
        *(column["name"] for column in columns),
        *(column.get("description") or "" for column in columns),
    )
    return sorted({*exact, *filters, *tokens.words(tokens.NAME, called), *tokens.words(tokens.ANY, texts)})


def _hit(shown: HitContent) -> str:
    description = shown.description
    if description and len(description) > _SHOWN_CHARACTERS:
        description = f"{description[:_SHOWN_CHARACTERS]}…"
    few = {key: getattr(shown, key)[:_SHOWN_VALUES] for key in ("owners", "tags")}
    return msgspec.json.encode(msgspec.structs.replace(shown, description=description, **few)).decode()


def _sort_key(head: _Member) -> bytes:
    """Give what orders entries: shorter names, then namespace, name and id; bytes, so that all stores agree."""
    texts = (head.namespace[:_SORTED_CHARACTERS], head.name[:_SORTED_CHARACTERS])
    return b"".join((len(head.name).to_bytes(4, "big"), *(f"{text}\0".encode() for text in texts), head.id))
