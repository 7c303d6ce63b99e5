"""Finds names in asset files that nothing else uses: types, checks, columns and datasets."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from bridge.governance.asset import Asset, AssetCheck
from bridge.governance.asset_files import LoadResult
from bridge.governance.loaded_asset import LoadedAsset
from bridge.governance.matcher import AssetMatcher, QualifiedName
from bridge.settings.yaml_model import read_origins
from bridge.settings.yaml_tree import KeyPath, Origin
from bridge.store.assets import AssetStore
from bridge.store.database import Database
from bridge.store.identity_groups import group_ids
from bridge.store.references import parse_id
from bridge.store.search.names import find_similar
from bridge.sync.item_store import SyncItemStore
from mappers.canonical.columns import SchemaColumn
from mappers.governance.checks import CHECK_KINDS, is_standard_check
from mappers.governance.contract import normalize_type
from mappers.naming import suggest_name
from mappers.openlineage.names import canonical_dataset_name
from mappers.openmetadata.column_types import TYPE_NAMES, unknown_type_names

_COMMON_TYPES = (
    "string", "int", "bigint", "double", "decimal(18,2)", "boolean", "date", "timestamp", "binary", "array<…>",
    "map<…>", "struct<…>",
)  # fmt: skip


class KnownDatasets:
    """Datasets, columns and checks that the store knows. Not thread-safe."""

    def __init__(self, db: Database, org: str, items: SyncItemStore, update_index: Callable[[], None]) -> None:
        self._db = db
        self._org = org
        self._assets = AssetStore(db, org)
        self._matcher = AssetMatcher(db, org, items)
        self._update_index: Callable[[], None] | None = update_index

    def find(self, assets: Sequence[Asset]) -> tuple[dict[QualifiedName, bytes], dict[QualifiedName, str]]:
        """Return the group of each asset without wildcards, and why the other assets match no dataset."""
        match_result = self._matcher.match(assets)
        ids = {
            asset.qualified_name: canonical_dataset_name(self._org, *name).id
            for name, matching_assets in match_result.datasets.items()
            for asset in matching_assets
            if not asset.is_pattern
        }
        groups = group_ids(self._db, self._org, set(ids.values()))
        return {name: groups.get(id_, id_) for name, id_ in ids.items()}, match_result.pending

    def reported(self, groups: Collection[bytes]) -> set[bytes]:
        return self._assets.reported_datasets(groups)

    def columns(self, groups: Collection[bytes]) -> dict[bytes, list[SchemaColumn]]:
        return self._assets.columns(groups)

    def checks(self) -> set[str]:
        return self._assets.reported_checks()

    def find_similar(self, name: QualifiedName) -> str | None:
        """Return the reported dataset with the most similar name, in the same namespace if there is one."""
        if self._update_index:
            self._update_index()
            self._update_index = None
        for namespace in (name[0], None):
            hits = find_similar(self._db, self._org, name[1], namespace)
            groups = group_ids(self._db, self._org, {parse_id(hit.id) for hit in hits})
            reported_groups = self.reported(set(groups.values()))
            for hit in hits:
                if groups.get(parse_id(hit.id)) in reported_groups:
                    return f"{hit.namespace} {hit.name}"
        return None


class _Problem(NamedTuple):
    """A problem and the key of the asset that causes it."""

    asset: LoadedAsset
    key_path: KeyPath
    text: str


class ValidationResult(NamedTuple):
    """Valid assets, and one line for each error and warning."""

    valid: list[LoadedAsset]
    errors: list[str]
    warnings: list[str]


class AssetValidator:
    """Validates loaded assets, and compares them with the datasets of a store if there is one."""

    def __init__(self, check_names: Collection[str], datasets: KnownDatasets | None) -> None:
        self._check_names = check_names
        self._datasets = datasets
        self._reported_checks: set[str] | None = None

    @property
    def has_store(self) -> bool:
        return self._datasets is not None

    def validate(self, load_result: LoadResult) -> ValidationResult:
        """Find errors and warnings. Assets with errors are not valid."""
        assets = load_result.loaded
        groups, pending = self._datasets.find([entry.asset for entry in assets]) if self._datasets else ({}, {})
        columns = self._datasets.columns(set(groups.values())) if self._datasets else {}
        errors: list[_Problem] = []
        for entry in assets:
            known_columns = columns.get(groups.get(entry.asset.qualified_name, b""), [])
            errors += self._find_errors(entry, known_columns)
        invalid_sources = {error.asset.source for error in errors}
        return ValidationResult(
            [entry for entry in assets if entry.source not in invalid_sources],
            [*load_result.problems, *_format(errors)],
            _format(self._unreported_datasets(assets, groups, pending)),
        )

    def _find_errors(self, entry: LoadedAsset, known_columns: Sequence[SchemaColumn]) -> Iterator[_Problem]:
        """Find unknown types and checks, and checks of columns that neither the file nor the store contains."""
        yield from _type_errors(entry, known_columns)
        declared_columns = entry.asset.columns
        columns = known_columns if declared_columns is None else declared_columns
        column_names = [column.name for column in columns]
        place = "the dataset in the store" if declared_columns is None else "schema"
        for index, check in enumerate(entry.asset.quality or ()):
            key_path: KeyPath = ("asset", "quality", index)
            if not self._is_known_check(check.check):
                hint = suggest_name(check.check, self._check_names_to_suggest(), "known checks")
                text = f"unknown check {check.check}; {hint} (add checks of your producers to governance.check_names)"
                yield _Problem(entry, (*key_path, "check"), text)
            for key, name in _checked_columns(check):
                if column_names and not _contains(column_names, name):
                    hint = suggest_name(name, column_names, "columns")
                    yield _Problem(entry, (*key_path, key), f"{place} has no column {name}; {hint}")

    def _is_known_check(self, name: str) -> bool:
        """Return whether a check is standard, configured, or has reported results."""
        if is_standard_check(name) or name in self._check_names:
            return True
        return name in self._load_reported_checks()

    def _load_reported_checks(self) -> set[str]:
        if self._reported_checks is None:
            self._reported_checks = self._datasets.checks() if self._datasets else set()
        return self._reported_checks

    def _check_names_to_suggest(self) -> list[str]:
        return list(dict.fromkeys((*CHECK_KINDS, *self._check_names, *sorted(self._load_reported_checks()))))

    def _unreported_datasets(
        self, assets: Iterable[LoadedAsset], groups: dict[QualifiedName, bytes], pending: dict[QualifiedName, str]
    ) -> Iterator[_Problem]:
        """Find the datasets that would exist only because of an asset file, and assets that match no dataset."""
        if self._datasets is None:
            return
        reported_groups = self._datasets.reported(set(groups.values()))
        for entry in assets:
            name = entry.asset.qualified_name
            key_path = ("asset", "name")
            if reason := pending.get(name):
                yield _Problem(entry, key_path, f"{reason}: check namespace and name")
            elif name in groups and groups[name] not in reported_groups:
                similar_name = self._datasets.find_similar(name)
                hint = f"did you mean {similar_name}?" if similar_name else "check namespace and name"
                yield _Problem(entry, key_path, f"no event has reported the dataset {' '.join(name)}; {hint}")


def _type_errors(entry: LoadedAsset, known_columns: Sequence[SchemaColumn]) -> Iterator[_Problem]:
    """Find unknown types, except those that events have reported for the same column."""
    known_types = {column.name.casefold(): normalize_type(column.type or "") for column in known_columns}
    for index, column in enumerate(entry.asset.columns or ()):
        if column.type and normalize_type(column.type) != known_types.get(column.name.casefold()):
            for name in unknown_type_names(column.type):
                text = f"unknown type {name}; {_type_hint(name)}"
                yield _Problem(entry, ("asset", "schema", index, "type"), text)


def _type_hint(name: str) -> str:
    for match in get_close_matches(name, sorted(TYPE_NAMES), 1):
        return f"did you mean {match}?"
    return f"common types: {', '.join(_COMMON_TYPES)}"


def _checked_columns(check: AssetCheck) -> Iterator[tuple[str, str]]:
    """Yield the columns of a check, with the key that names them."""
    if check.column:
        yield "column", check.column
    columns = (check.model_extra or {}).get("columns")
    if isinstance(columns, list):
        yield from (("columns", name) for name in columns if isinstance(name, str))


def _contains(column_names: Iterable[str], name: str) -> bool:
    """Return whether columns include this one, or the column in which it is nested, regardless of case."""
    folded_names = {column_name.casefold() for column_name in column_names}
    root_name, _, _ = name.casefold().partition(".")
    return name.casefold() in folded_names or root_name in folded_names


def _format(problems: Iterable[_Problem]) -> list[str]:
    """Format problems with file, line and key."""
    origins_by_source: dict[str, dict[KeyPath, Origin]] = {}
    lines = []
    for (_, source), key_path, text in problems:
        if source not in origins_by_source:
            origins_by_source[source] = read_origins(Path(source))
        origin = origins_by_source[source].get(key_path, Origin(source, 1))
        lines.append(f"{origin}: {'.'.join(map(str, key_path))}: {text}")
    return lines
