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
    """Facts by dataset or job id. Columns are listed by the id of the identity group."""

    columns: dict[bytes, list[dict[str, Any]]]
    tags: dict[bytes, list[tuple[str, str]]]
    owners: dict[bytes, list[str]]
    categories: dict[bytes, tuple[bytes, str]]
    #: Facets of stewards, which take precedence over other sources.
    governance: dict[bytes, dict[str, Any]]


def read_related_facts(db: Database, org: str, groups: list[bytes], ids: list[bytes]) -> RelatedFacts:
    """Read the facts of datasets and jobs, and the columns of identity groups."""
    facts = RelatedFacts({}, {}, {}, {}, {})
    for group, columns in db.fetch_for_ids(_COLUMNS, groups, org):
        facts.columns[group] = msgspec.json.decode(columns)
    for subject, name, body in db.fetch_for_ids(_FACETS, ids, org, NO_ID):
        content = msgspec.json.decode(body)
        if name == "tags":
            facts.tags.setdefault(subject, []).extend(_tag_keys_and_values(content))
        elif name == GOVERNANCE:
            facts.governance[subject] = content
            facts.tags.setdefault(subject, []).extend((term, "") for term in governance_terms(content))
            facts.owners.setdefault(subject, []).extend(_string_list(content, "owners"))
        else:
            names = (_string_value(owner_object, "name") for owner_object in _object_list(content, "owners"))
            facts.owners.setdefault(subject, []).extend(filter(None, names))
    for dataset, order, request in db.fetch_for_ids(_REQUESTS, ids, org):
        if category := _string_value(msgspec.json.decode(request), "category"):
            facts.categories[dataset] = max(facts.categories.get(dataset, (b"", "")), (order, category))
    return facts


def _object_list(body: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    """List the objects of a list in a facet. Facets are stored as they were sent, so they may have any shape."""
    items = body.get(key)
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))


def governance_terms(governance: dict[str, Any]) -> list[str]:
    """List the search terms of a governance facet: tags, classifications, glossary terms, domain and others."""
    terms = [
        term
        for key in ("tags", "classifications", "glossaryTerms", "dataProducts")
        for term in _string_list(governance, key)
    ]
    single_values = [_string_value(governance, key) for key in ("domain", "tier", "certification")]
    return terms + [value for value in single_values if value]


def _string_list(body: dict[str, Any], key: str) -> list[str]:
    items = body.get(key)
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, str)]


def _string_value(body: dict[str, Any], key: str) -> str:
    text = body.get(key)
    return text.strip() if isinstance(text, str) else ""


def _tag_keys_and_values(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of tags. The value `true` is replaced by an empty string."""
    for tag in _object_list(body, "tags"):
        if key := _string_value(tag, "key"):
            value = _string_value(tag, "value")
            yield key, "" if value.lower() == "true" else value


_MEMBERS = """
SELECT d.class_id, d.dataset_id, n.namespace_uri, d.name, d.is_active, d.documentation_order, d.description,
  d.storage_order, d.default_format, d.owner_team, d.owner_email
FROM ol_dataset d JOIN ol_namespace n ON n.org_id = d.org_id AND n.namespace_id = d.namespace_id
WHERE d.org_id = ?1 AND d.class_id {ids} AND d.folded_into IS NULL
"""
_JOBS = f"""
SELECT j.job_id, j.job_id, n.namespace_uri, j.name, TRUE, NULL, j.description, NULL, NULL, j.owner_team, j.owner_email
FROM ol_job j JOIN ol_namespace n ON n.org_id = j.org_id AND n.namespace_id = j.namespace_id
WHERE j.org_id = ?1 AND j.job_id {{ids}} AND NOT {IS_STEP_SQL}
"""
#: A hit contains the first characters of a description, and a limited number of owners and tags.
_MAX_CHARACTERS, _MAX_VALUES = 1_000, 100
#: Names are sorted by this many characters, then by id, because PostgreSQL limits the length of index keys.
_SORT_CHARACTERS = 250


class HitContent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of a hit without its kind and id; unknown values are omitted."""

    namespace: str
    name: str
    description: str | None = None
    owners: list[str] = []
    tags: list[str] = []
    format: str | None = None
    category: str | None = None
    active: bool = True


class SearchDocument(NamedTuple):
    """An index entry: its sort key, the content of its hit, and the tokens that find it."""

    kind: str
    id: bytes
    sort_key: bytes
    hit_json: str
    words: str


class _Member(NamedTuple):
    """A name of a dataset, or a job, with its attributes."""

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
    """Build the documents of the datasets and jobs with these ids, one per identity group or job."""
    groups = set(group_ids(db, org, ids).values())
    members = [_Member._make(row) for row in db.fetch_for_ids(_MEMBERS, sorted(groups), org)]
    jobs = [_Member._make(row) for row in db.fetch_for_ids(_JOBS, sorted(set(ids)), org)]
    facts = read_related_facts(db, org, sorted(groups), [member.id for member in (*members, *jobs)])
    members_by_entry: dict[bytes, list[_Member]] = {}
    for member in (*members, *jobs):
        members_by_entry.setdefault(member.entry, []).append(member)
    for entry, members in sorted(members_by_entry.items()):
        yield _build_document("dataset" if entry in groups else "job", entry, sorted(members), facts)


def _build_document(kind: str, entry: bytes, members: list[_Member], facts: RelatedFacts) -> SearchDocument:
    """Combine the names of a dataset, or a job, with their facts into one document."""
    representative = next(member for member in members if member.id == entry)
    tags = sorted({tag for member in members for tag in facts.tags.get(member.id, ())})
    owners = {owner for member in members for owner in facts.owners.get(member.id, ())}
    owners.update(owner for member in members for owner in (member.team, member.email) if owner)
    governance = next((facts.governance[member.id] for member in members if member.id in facts.governance), {})
    description = _newest_value((member.documentation_order, member.description) for member in members)
    content = HitContent(
        representative.namespace,
        representative.name,
        description=governance.get("description") or description,
        owners=sorted(owners),
        tags=[f"{key}:{value}" if value else key for key, value in tags],
        format=_newest_value((member.storage_order, member.format) for member in members),
        category=governance.get("category") or _category(members, tags, facts),
        active=bool(representative.active),
    )
    words = _document_tokens(kind, members, content, facts.columns.get(entry, []), [key for key, _ in tags])
    return SearchDocument(kind, entry, _sort_key(representative), _encode_hit(content), " ".join(words))


def _newest_value(values: Iterable[tuple[bytes | None, str | None]]) -> str | None:
    """Return the newest of these values, which are given with their register orders."""
    _, newest = max((order or b"", value or "") for order, value in values)
    return newest or None


def _category(members: list[_Member], tags: list[tuple[str, str]], facts: RelatedFacts) -> str | None:
    """Return the category of the newest registration or, failing that, the value of a `category` tag."""
    registered_categories = [facts.categories[member.id] for member in members if member.id in facts.categories]
    if registered_categories:
        _, newest_category = max(registered_categories)
        return newest_category
    return next((value for key, value in tags if key.lower() == "category" and value), None)


def _document_tokens(
    kind: str, members: list[_Member], content: HitContent, columns: list[dict[str, Any]], tag_keys: list[str]
) -> list[str]:
    """List the tokens that find a document: by name, by filter, and by words."""
    name_tokens = {token for member in members for token in tokens.name_tokens(member.namespace, member.name)}
    filter_tokens = {tokens.namespace_token(member.namespace) for member in members}
    filter_tokens.add(tokens.value_token(tokens.KIND, kind))
    filter_tokens.update(tokens.value_token(tokens.OWNER, owner) for owner in content.owners)
    filter_tokens.update(tokens.value_token(tokens.TAG, tag) for tag in (*content.tags, *tag_keys))
    optional_filters = ((tokens.CATEGORY, content.category), (tokens.FORMAT, content.format))
    filter_tokens.update(tokens.value_token(first_letter, value) for first_letter, value in optional_filters if value)
    member_names = [member.name for member in members]
    texts = (
        *member_names,
        *(member.namespace for member in members),
        content.description or "",
        *content.tags,
        *(column["name"] for column in columns),
        *(column.get("description") or "" for column in columns),
    )
    return sorted(
        {
            *name_tokens,
            *filter_tokens,
            *tokens.word_tokens(tokens.NAME, member_names),
            *tokens.word_tokens(tokens.ANY, texts),
        }
    )


def _encode_hit(content: HitContent) -> str:
    """Encode the content of a hit with a truncated description and limited lists."""
    description = content.description
    if description and len(description) > _MAX_CHARACTERS:
        description = f"{description[:_MAX_CHARACTERS]}…"
    owners, tags = content.owners[:_MAX_VALUES], content.tags[:_MAX_VALUES]
    shortened_content = msgspec.structs.replace(content, description=description, owners=owners, tags=tags)
    return msgspec.json.encode(shortened_content).decode()


def _sort_key(representative: _Member) -> bytes:
    """Order entries by length of name, then namespace, name and id. Bytes sort identically in all stores."""
    name_length = len(representative.name).to_bytes(4, "big")
    namespace = representative.namespace[:_SORT_CHARACTERS]
    name = representative.name[:_SORT_CHARACTERS]
    return name_length + f"{namespace}\0{name}\0".encode() + representative.id
