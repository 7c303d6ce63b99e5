"""What a run left in a dataset, and how much that is."""

from typing import Any

from mappers.canonical.facts import DatasetVersion
from mappers.canonical.identity import NOBODY, digest, joined_id, named_id
from mappers.canonical.order import Rank, order
from mappers.naming import storage_path
from mappers.openlineage import facets as f
from mappers.openlineage.parts import DatasetPart, FacetPart, is_deleted, understand
from mappers.openlineage.place import Place
from mappers.openlineage.statements import Named, Statements

_INT64 = 1 << 63
#: The facet of an output that names the key of its version.
KEY_FACET = "lineageBridge_idempotencyKey"


def read_statistics(say: Statements, part: FacetPart | None) -> dict[str, Any]:
    """Give the columns of a row that a statistics facet fills; none when there is nothing to read."""
    statistics = understand(part, f.Statistics, say.notes)
    if is_deleted(part):
        statistics = f.Statistics()
    if statistics is None or part is None:
        return {}
    counts = (statistics.rowCount, statistics.size, statistics.fileCount)
    fitting = [c if c is None or -_INT64 <= c < _INT64 else None for c in counts]
    if list(counts) != fitting:
        say.notes.append("a statistic beyond 64 bits: ignored")
    rows, size, files = fitting
    order_ = say.order(0, part.digest)
    return {"statistics_order": order_, "row_count": rows, "byte_count": size, "file_count": files}


def version_id(dataset: bytes, writer: bytes) -> bytes:
    """Identify the version of a dataset that a run (or a DatasetEvent) made."""
    return joined_id(b"version", dataset, writer)


def state_version(say: Statements, part: DatasetPart, named: Named, place: Place, schema: bytes | None) -> None:
    """State the version that a run leaves; without a version of its own system it is called by the run."""
    tag = order(Rank.MENTION, 0, NOBODY), place.run_uuid
    version = understand(part.facets.get("version"), f.Version, say.notes)
    more = read_statistics(say, part.output_facets.get("outputStatistics"))
    if schema:
        more |= {"schema_order": say.order(0, schema), "schema_hash": schema}
    subset = part.output_facets.get("subset")
    if subset is not None:
        more |= {"subset_order": say.order(0, subset.digest), "subset_json": subset.body}
    more |= _reported_path(say, part) | _idempotency_key(say, part)
    if version:
        tag = _tag(say, version)
    elif is_deleted(part.facets.get("version")):
        tag = say.order(Rank.OUTPUT, NOBODY), place.run_uuid
    say.rows.append(_row(say, named, place.run, place.run, tag, **more))


def state_reported_version(say: Statements, part: DatasetPart, named: Named) -> None:
    """State a version that a DatasetEvent reports, with nobody known to have written it."""
    version = understand(part.facets.get("version"), f.Version, say.notes)
    if version:
        writer = named_id("reported version", named.id.hex(), version.datasetVersion)
        more = read_statistics(say, part.facets.get("outputStatistics")) | _reported_path(say, part)
        say.rows.append(_row(say, named, writer, None, _tag(say, version), **more))


def version_key(say: Statements, tag: str) -> str:
    """Give a version's own name, as it can be found by it."""
    return say.key(tag, "a version")


def _reported_path(say: Statements, part: DatasetPart) -> dict[str, Any]:
    """Give the columns for a path that a producer names; without one it follows from the dataset's name."""
    facet = part.facets.get("lineageBridge_path")
    reported = understand(facet, f.Path, say.notes)
    if facet is not None and is_deleted(facet):
        return {"path_order": say.order(0, facet.digest)}
    return {"path_order": say.order(0, facet.digest), "path": reported.path} if reported and facet else {}


def _idempotency_key(say: Statements, part: DatasetPart) -> dict[str, Any]:
    """Give the columns for the key that the attempts at a version share: readers see one version of each."""
    facet = part.output_facets.get(KEY_FACET)
    if facet is not None and is_deleted(facet):
        return {"key_order": say.order(0, facet.digest)}
    given = understand(facet, f.IdempotencyKey, say.notes)
    if given is None or facet is None or not given.key:
        return {}
    return {"key_order": say.order(0, facet.digest), "idempotency_key": say.key(given.key, "an idempotency key")}


def _tag(say: Statements, version: f.Version) -> tuple[bytes, str]:
    tag = version.datasetVersion
    return say.order(Rank.OUTPUT, digest(tag.encode())), version_key(say, tag)


def _row(
    say: Statements, named: Named, writer: bytes, run: bytes | None, tag: tuple[bytes, str], **more: Any
) -> DatasetVersion:
    path = storage_path(named.namespace, named.name)
    row = DatasetVersion(say.org, named.id, writer, version_id(named.id, writer), run, path, say.micros, *tag)
    return row._replace(**more)
