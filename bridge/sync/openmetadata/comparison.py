"""Compares entities, edges and test cases with the last push."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from bridge.sync.canonical.quality import read_checks
from bridge.sync.edge_store import EdgeRecord, EdgeStore
from bridge.sync.openmetadata.context import NOT_FOUND, OpenMetadataContext
from bridge.sync.openmetadata.desired_entities import (
    DesiredEntity,
    EntityRecord,
    desired_datasets,
    desired_pipelines,
)
from bridge.sync.openmetadata.edge_writer import is_unchanged
from bridge.sync.openmetadata.entity_lookup import COLLECTIONS, LIST_PARENT, EntityLookup, column_paths, parent_of
from bridge.sync.openmetadata.entity_update import desired_body
from bridge.sync.openmetadata.observation_comparison import ObservationComparison
from bridge.sync.openmetadata.profiles import ProfilePusher
from bridge.sync.openmetadata.restored_entities import RestoredEntityComparison
from bridge.sync.openmetadata.run_statuses import RunStatusPusher
from bridge.sync.openmetadata.test_results import CheckResultPusher
from bridge.sync.sync_item import Outcome, RemoteReference, SyncItem
from bridge.sync.target import ComparedBatch, Difference
from connectors.errors import TargetRejected
from mappers.canonical_json import JsonObject
from mappers.openmetadata.preserved_fields import READ_FIELDS, differing_fields
from mappers.openmetadata.quality import DEFINITION_PREFIX

_TEST_CASES_PER_BATCH = 500


class QualityCheckComparison:
    """Finds missing test cases; requests run in a thread pool. Not thread-safe."""

    def __init__(self, ctx: OpenMetadataContext) -> None:
        self._ctx = ctx

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare all test cases; edits by people are not differences."""
        pushed = self._ctx.items.list_pushed("check")
        for i in range(0, len(pushed), _TEST_CASES_PER_BATCH):
            items = self._ctx.items.get("check", [key for _, key in pushed[i : i + _TEST_CASES_PER_BATCH]])
            comparable_items = {
                key: item for key, item in items.items() if item.outcome in (Outcome.PUSHED, Outcome.UNCHANGED)
            }
            remotes_by_table = self._group_by_table(comparable_items)
            cases_by_table = dict(
                zip(remotes_by_table, self._ctx.pool.map(self._fetch_cases, remotes_by_table), strict=True)
            )
            orphaned = [orphan for cases in cases_by_table.values() for orphan in self._find_orphans(cases or {})]
            differences = [
                Difference("check", key, remote.name, description)
                for table, remotes in remotes_by_table.items()
                for key, remote in remotes.items()
                if (description := _describe_case(remote, cases_by_table[table]))
            ]
            yield ComparedBatch("check", sum(map(len, remotes_by_table.values())), differences, orphaned)

    def _find_orphans(self, cases: Mapping[str, JsonObject]) -> list[RemoteReference]:
        """Return test cases of this bridge that no check refers to; earlier versions left some behind."""
        remotes = [
            RemoteReference("testCase", str(case["id"]), name)
            for name, case in cases.items()
            if str((case.get("testDefinition") or {}).get("name", "")).startswith(DEFINITION_PREFIX)
        ]
        return [remote for remote in remotes if not self._ctx.items.find_by_remote_id(remote.id)]

    def _group_by_table(self, items: Mapping[bytes, SyncItem]) -> dict[str, dict[bytes, RemoteReference]]:
        """Return references to pushed test cases, by table and item key."""
        checks = read_checks(self._ctx.db, self._ctx.org, items)
        datasets = self._ctx.items.get("dataset", {check.dataset for check in checks.values() if check.dataset})
        remotes_by_table: dict[str, dict[bytes, RemoteReference]] = {}
        for key, check in checks.items():
            dataset, remote = datasets.get(check.dataset or b""), items[key].remote
            if dataset and dataset.remote and remote:
                remotes_by_table.setdefault(dataset.remote.name, {})[key] = remote
        return remotes_by_table

    def _fetch_cases(self, table: str) -> dict[str, JsonObject] | None:
        """Return the test cases of a table by name; None if the table does not exist."""
        try:
            return {str(case["fullyQualifiedName"]): case for case in self._ctx.client.test_cases(table)}
        except TargetRejected as error:
            if error.status == NOT_FOUND:
                return None
            raise


def _describe_case(remote: RemoteReference, cases: Mapping[str, JsonObject] | None) -> str | None:
    if cases is None:
        return None  # reported as a missing table
    if remote.name not in cases:
        return "is missing"
    return None if cases[remote.name]["id"] == remote.id else "was recreated under the same name"


#: Edges per batch.
_EDGES_PER_BATCH = 200


class OpenMetadataComparison:
    """Compares OpenMetadata with the last push; requests run in a thread pool. Not thread-safe."""

    def __init__(
        self,
        ctx: OpenMetadataContext,
        lookup: EntityLookup,
        edge_store: EdgeStore,
        runs: RunStatusPusher,
        results: CheckResultPusher,
        profiles: ProfilePusher,
    ) -> None:
        self._ctx = ctx
        self._lookup = lookup
        self._edge_store = edge_store
        self._runs, self._results, self._profiles = runs, results, profiles
        self._checks = QualityCheckComparison(ctx)
        self._observations = ObservationComparison(ctx)
        self._restored = RestoredEntityComparison(ctx, lookup, edge_store)

    def compare(self) -> Iterator[ComparedBatch]:
        """Compare everything in dependency order, because differences are repaired while the comparison runs."""
        yield from self._compare_entities_and_edges()
        yield from self._observations.compare(self._runs)
        yield from self._observations.compare_deleted(self._runs)
        if self._ctx.options.publish_quality_results:
            yield from self._checks.compare()
            yield from self._observations.compare(self._results)
            yield from self._observations.compare_deleted(self._results)
        if self._ctx.options.publish_profiling_metrics:
            yield from self._observations.compare(self._profiles)
            yield from self._observations.compare_deleted(self._profiles)
        yield from self._restored.compare()

    def _compare_entities_and_edges(self) -> Iterator[ComparedBatch]:
        for kind in ("dataset", "job"):
            pushed = self._ctx.items.list_pushed(kind)
            for (type_, parent), group in groupby(pushed, _type_and_parent):
                keys = {remote.name: key for remote, key in group}
                yield from self._compare_entities(kind, COLLECTIONS[type_], parent, keys)
        if self._ctx.options.track_lineage:
            yield from self._compare_edges()

    def _compare_entities(
        self, kind: str, collection: str, parent: str, keys: dict[str, bytes]
    ) -> Iterator[ComparedBatch]:
        """Compare the entities of one parent; lists the parent if that costs less than single lookups."""
        unseen = dict(keys)
        for page in self._fetch_pages(collection, parent, list(keys)):
            existing = {str(entity["fullyQualifiedName"]): entity for entity in page}
            found_keys = {name: unseen.pop(name) for name in existing if name in unseen}
            items = self._ctx.items.get(kind, list(found_keys.values()))
            desired = self._desired(kind, list(items.values()))
            differences = [
                Difference(kind, key, name, description)
                for name, key in found_keys.items()
                if (description := self._describe_entity(items[key], desired.get(key), existing[name]))
            ]
            yield ComparedBatch(kind, len(found_keys), differences)
        missing = [Difference(kind, key, name, "is missing") for name, key in unseen.items()]
        yield ComparedBatch(kind, len(unseen), missing)

    def _fetch_pages(self, collection: str, parent: str, names: Sequence[str]) -> Iterator[list[JsonObject]]:
        if self._lookup.is_listing_cheaper(collection, parent, len(names)):
            yield from self._ctx.client.pages(
                collection, *READ_FIELDS[collection], **{LIST_PARENT[collection].parameter: parent}
            )
        else:
            entities = self._ctx.pool.map(
                lambda name: self._ctx.client.get(collection, name, *READ_FIELDS[collection]), names
            )
            yield [entity for entity in entities if entity]

    def _desired(self, kind: str, items: Sequence[SyncItem]) -> dict[bytes, DesiredEntity]:
        read_desired = desired_datasets if kind == "dataset" else desired_pipelines
        desired = read_desired(self._ctx, items)
        return {entity.item.key: entity for entity in desired if isinstance(entity, DesiredEntity)}

    def _describe_entity(self, item: SyncItem, desired: DesiredEntity | None, entity: JsonObject) -> str | None:
        """Describe how an entity differs from the last push; only the columns of foreign entities are compared."""
        if item.remote is None or item.remote.id != entity["id"]:
            return "was recreated under the same name"
        if not item.created_by_us:
            recorded = set(item.read_record(EntityRecord).columns)
            return None if recorded == set(column_paths(entity)) else "has other columns"
        candidates = desired.candidates if desired else ()
        own = next((candidate.own for candidate in candidates if candidate.own.fqn == item.remote.name), None)
        if own is None:
            return None  # its location has changed, so the item is already marked
        body = desired_body(own, with_columns=self._ctx.options.update_on_schema_change)
        fields = differing_fields(own.collection, body, entity)
        return f"differs: {', '.join(fields)}" if fields else None

    def _compare_edges(self) -> Iterator[ComparedBatch]:
        for edges in self._edge_store.batches(_EDGES_PER_BATCH):
            unchanged = self._ctx.pool.map(lambda edge: is_unchanged(self._ctx.client, edge), edges)
            changed = [edge for edge, is_same in zip(edges, unchanged, strict=True) if not is_same]
            keys = {key for edge in changed for key in (edge.target_key, edge.source_key)}
            items = self._ctx.items.get("dataset", keys) | self._ctx.items.get("job", keys)
            names = {key: item.remote.name for key, item in items.items() if item.remote}
            yield ComparedBatch("lineage", len(edges), [_edge_difference(edge, names) for edge in changed])


def _type_and_parent(pushed: tuple[RemoteReference, bytes]) -> tuple[str, str]:
    remote, _ = pushed
    return remote.type, parent_of(COLLECTIONS[remote.type], remote.name)


def _edge_difference(edge: EdgeRecord, names: dict[bytes, str]) -> Difference:
    source = names.get(edge.source_key, edge.source.id)
    target = names.get(edge.target_key, edge.target.id)
    return Difference("lineage", edge.target_key, f"{source} -> {target}", "was changed")
