"""Names in asset files that nothing else uses: types, checks, columns and datasets."""

from pathlib import Path

import pytest

from bridge.governance.asset_files import load_assets
from bridge.governance.asset_validation import AssetValidator, KnownDatasets, ValidationResult
from bridge.store.search.indexer import SearchIndexer
from bridge.sync.item_store import SyncItemStore
from tests.factories import dataset, dataset_event, facet, job_event, run_event, schema
from tests.governance.asset_harness import asset, make_applier
from tests.stores import Store

ASSERTIONS = {"dataQualityAssertions": facet(assertions=[{"assertion": "mostly_filled", "success": True}])}
ORDERS = run_event(
    outputs=[
        dataset(
            "orders",
            schema=facet(fields=[{"name": "id", "type": "hllsketch"}, {"name": "address", "type": "struct"}]),
        )
    ]
)
CHECKED = run_event(run=2, inputs=[dataset("checked", schema=schema("k"), input_facets=ASSERTIONS)])


def validate(store: Store | None, folder: Path, *texts: str, check_names: tuple[str, ...] = ()) -> ValidationResult:
    """Validate asset files; each text follows `asset:`."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(f"asset:\n{text}", encoding="utf-8")
    datasets = None
    if store is not None:
        items = SyncItemStore(store.db, store.org, "openmetadata", lambda: 0)
        datasets = KnownDatasets(store.db, store.org, items, SearchIndexer(store.db, store.org).index_all)
    result = AssetValidator(check_names, datasets).validate(load_assets([folder]))
    lines = ([line.replace(f"{folder}/", "") for line in lines] for lines in (result.errors, result.warnings))
    return ValidationResult(result.valid, *lines)


HEAD = "  namespace: db\n  name: orders\n"
ERRORS = {
    "type": ("  schema: [{name: id, type: strng}]", "4: asset.schema.0.type: unknown type strng; did you mean string?"),
    "nested type": ("  schema: [{name: a, type: 'array<struct<x:bigit>>'}]", "4: asset.schema.0.type: unknown type bigit; did you mean bigint?"),
    "type that resembles none": ("  schema: [{name: a, type: qqq}]", "4: asset.schema.0.type: unknown type qqq; common types: string, int,"),
    "type of another column": ("  schema: [{name: x, type: hllsketch}]", "4: asset.schema.0.type: unknown type hllsketch;"),
    "check": ("  quality:\n    - {name: q, check: not_nul}", "5: asset.quality.0.check: unknown check not_nul; did you mean not_null?"),
    "check that resembles none": ("  quality: [{name: q, check: zzz}]", "4: asset.quality.0.check: unknown check zzz; known checks: not_null, unique,"),
    "column that schema lacks": ("  schema: [{name: id}]\n  quality:\n    - {name: q, check: unique,\n       column: idd}", "7: asset.quality.0.column: schema has no column idd; did you mean id?"),
    "one of several columns": ("  schema: [{name: id}]\n  quality: [{name: q, check: unique, columns: [id, day]}]", "5: asset.quality.0.columns: schema has no column day; columns: id"),
    "column that the store lacks": ("  quality: [{name: q, check: unique, column: adress}]", "4: asset.quality.0.column: the dataset in the store has no column adress; did you mean address?"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "error"), ERRORS.values(), ids=ERRORS)
def test_error_names_line_key_and_nearest_name(store: Store, tmp_path: Path, text: str, error: str) -> None:
    store.apply_each(ORDERS)
    result = validate(store, tmp_path, HEAD + text)
    assert (result.valid, len(result.errors), result.warnings) == ([], 1, [])
    assert result.errors[0].startswith(f"0.yaml:{error}")


VALID = {
    "types of other systems": "  schema: [{name: a, type: 'varchar(10) for bit data'}, {name: b, type: 'INTERVAL YEAR'}, {name: c, type: 'Map<string,decimal(10, 2)>'}]",
    "type that events report": "  schema: [{name: ID, type: HLLSKETCH}]",
    "checks of other producers": "  quality: [{name: a, check: relationships}, {name: b, check: expect_x}, {name: c, check: mostly_filled}, {name: d, check: own}]",
    "nested column, in another case": "  quality: [{name: q, check: unique, column: Address.City}]",
    "no check of a column": "  quality: [{name: q, check: row_count, columns: 3}]",
}  # fmt: skip


@pytest.mark.parametrize("text", VALID.values(), ids=VALID)
def test_known_names_are_valid(store: Store, tmp_path: Path, text: str) -> None:
    store.apply_each(ORDERS, CHECKED)
    result = validate(store, tmp_path, HEAD + text, check_names=("own",))
    assert (len(result.valid), result.errors, result.warnings) == (1, [], [])


UNREPORTED = {
    "similar name": ("db", "ordrs", "0.yaml:3: asset.name: no event has reported the dataset db ordrs; did you mean db orders?"),
    "similar namespace": ("bd", "orders", "0.yaml:3: asset.name: no event has reported the dataset bd orders; did you mean db orders?"),
    "nothing similar": ("db", "zzzzzz", "0.yaml:3: asset.name: no event has reported the dataset db zzzzzz; check namespace and name"),
    "pattern": ("db", "x*", "0.yaml:3: asset.name: no dataset matches this pattern yet: check namespace and name"),
    "table": ("a.b.c", "t", "0.yaml:3: asset.name: no dataset has the table a.b.c.t yet: check namespace and name"),
}  # fmt: skip


@pytest.mark.parametrize("pushed", [False, True], ids=["new", "pushed"])
@pytest.mark.parametrize(("namespace", "name", "warning"), UNREPORTED.values(), ids=UNREPORTED)
def test_unreported_dataset_is_a_warning(
    store: Store, tmp_path: Path, namespace: str, name: str, warning: str, *, pushed: bool
) -> None:
    store.apply_each(ORDERS)
    if pushed:
        typo = asset(
            name,
            namespace,
            schema=[{"name": "id", "type": "int"}],
            governance={"owner": "ann"},
            sla={"freshness": "1d"},
        )
        make_applier(store).apply([typo])
    result = validate(store, tmp_path, f"  namespace: {namespace}\n  name: '{name}'\n")
    assert (len(result.valid), result.errors, result.warnings) == (1, [], [warning])


REPORTS = {
    "run": run_event(outputs=[dataset("t")]),
    "job definition": job_event(0, inputs=[dataset("t")]),
    "dataset event": dataset_event(0, dataset("t", documentation=facet(description="x"), other=facet())),
}


@pytest.mark.parametrize("event", REPORTS.values(), ids=REPORTS)
def test_reported_dataset_is_no_warning(store: Store, tmp_path: Path, event: dict[str, object]) -> None:
    make_applier(store).apply([asset("t", governance={"owner": "ann"})])
    store.apply_each(event)
    assert validate(store, tmp_path, "  namespace: db\n  name: t\n").warnings == []


def test_files_are_validated_without_a_store(tmp_path: Path) -> None:
    quality = "  quality: [{name: q, check: not_nul, column: x}]\n"
    result = validate(None, tmp_path, HEAD + quality, "  namespace: db\n  name: typo\n")
    assert (len(result.valid), len(result.errors), result.warnings) == (1, 1, [])
