"""Asset files: loading, errors, JSON schema, and edits."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from bridge.governance.asset import AssetFile, governance_facet
from bridge.governance.asset_files import AssetLoader, load_assets
from bridge.governance.facets import combine_assets
from bridge.governance.pull import plan_file_edit, write_file
from bridge.governance.yaml_editor import edit_asset_text
from bridge.settings.yaml_model import json_schema
from bridge.store.governance_facets import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA
from mappers.governance.facet import build_facet, facet_fields
from tests.governance.asset_harness import asset, asset_with_governance, write_asset

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "configs" / "assets" / "stripe_customers.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


def problems(folder: Path, text: str) -> list[str]:
    file = folder / "a.yaml"
    file.write_text(text, encoding="utf-8")
    return [problem.replace(str(folder), "") for problem in load_assets([file]).problems]


HEAD = "asset:\n  name: t\n  namespace: db\n"
INVALID = {
    "unknown key": (HEAD + "  governance:\n    ownre: ann\n", "/a.yaml:5: unknown key asset.governance.ownre; did you mean owner? Valid: owner, tags,"),
    "unknown key of a column": (HEAD + "  schema:\n    - name: k\n      typ: int\n", "/a.yaml:6: unknown key asset.schema.0.typ; did you mean type?"),
    "missing key": ("asset:\n  name: t\n", "/a.yaml:1: asset.namespace is missing"),
    "missing asset": ("other: 1\n", "/a.yaml:1: asset is missing"),
    "invalid value": (HEAD + "  governance:\n    retention_days: soon\n", "/a.yaml:5: asset.governance.retention_days: Input should be a valid integer"),
    "invalid time": (HEAD + "  sla: {expected_by: '25:00'}\n", '/a.yaml:4: asset.sla.expected_by: must be a time such as "06:30", in quotes'),
    "unknown time zone": (HEAD + "  sla: {timezone: Mars/One}\n", "/a.yaml:4: asset.sla.timezone: unknown time zone"),
    "duplicate key": (HEAD + "  category: a\n  category: b\n", "/a.yaml:5: category is set twice"),
    "duplicate column": (HEAD + "  schema: [{name: k}, {name: k}]\n", "/a.yaml:1: asset: schema contains k twice"),
    "alias": (HEAD + "  category: &c x\n  description: *c\n", "YAML aliases are not supported"),
    "alias bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nasset: *b\n", "YAML aliases are not supported"),
    "object tag": (HEAD + "  category: !!python/object/apply:os.system [ls]\n", "/a.yaml:4:"),
    "unknown tag": (HEAD + "  category: !secret x\n", "/a.yaml:4:"),
    "not a number": (HEAD + "  custom_properties:\n    x: .nan\n", "/a.yaml:5: asset.custom_properties.x: is not a finite number"),
    "surrogate": (HEAD + '  description: "a\\ud800"\n', "/a.yaml:4: asset.description: contains unsupported characters"),
    "U+0000 in a value": (HEAD + '  governance: {tags: ["a\\0"]}\n', "/a.yaml:4: asset.governance.tags.0: contains"),
    "U+0000 in a key": (HEAD + '  custom_properties: {"a\\0": 1}\n', "/a.yaml:4: asset.custom_properties: key"),
    "invalid YAML": ("asset: [\n", "is not YAML"),
    "empty file": ("", "/a.yaml:1:"),
    "list": ("- asset\n", "/a.yaml:1:"),
    "too deep": ("[" * 5_000, "is not YAML"),
    "too large": ("#" * ((1 << 20) + 1), "is larger than 1 MB"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_errors_have_location(tmp_path: Path, text: str, message: str) -> None:
    errors = problems(tmp_path, text)
    assert any(message in error for error in errors), errors


def test_invalid_files_do_not_affect_others(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(HEAD, encoding="utf-8")
    (tmp_path / "bad.yml").write_text("asset: 1", encoding="utf-8")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("no asset", encoding="utf-8")
    read = load_assets([tmp_path, tmp_path / "gone"])
    assert ([loaded.asset.name for loaded in read.loaded], read.files, len(read.problems)) == (["t"], 3, 3)


def test_two_files_for_one_dataset_are_an_error(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(HEAD, encoding="utf-8")
    read = load_assets([tmp_path])
    assert read.loaded == []
    (problem,) = read.problems
    assert problem.endswith("both define db t")


def test_published_json_schema_is_up_to_date() -> None:
    published = (ROOT / "configs" / "asset.schema.json").read_text(encoding="utf-8")
    assert published == json_schema(AssetFile, "An asset file of lineage-bridge"), (
        "lineage-bridge governance schema > configs/asset.schema.json"
    )
    validator = jsonschema_rs.validator_for(json.loads(published))
    assert validator.is_valid(yaml.safe_load(TEXT))
    assert not validator.is_valid({"asset": {"name": "t", "namespace": "db", "ownre": "x"}})


def test_load_example() -> None:
    (loaded,) = load_assets([EXAMPLE]).loaded
    facets = combine_assets([loaded.asset])
    assert set(facets) == {GOVERNANCE, CONTRACT, EXPECTATIONS, SLA}
    assert facets[GOVERNANCE]["owners"] == ["data-team@company.com"]
    assert build_facet(facet_fields(facets[GOVERNANCE]), facets[GOVERNANCE]) == facets[GOVERNANCE] | {
        "columns": sorted(facets[GOVERNANCE]["columns"], key=lambda column: column["name"])
    }


def test_combine_assets_of_patterns_and_names() -> None:
    pattern, own = (
        asset_with_governance("*", tags=["lake"], owner="ann"),
        asset_with_governance("t", tags=["t"], owner="bob"),
    )
    combined = combine_assets([own.asset, pattern.asset])[GOVERNANCE]
    assert (combined["tags"], combined["owners"], combined["asset"]) == (["lake", "t"], ["ann", "bob"], "t")
    checks = [asset(name, quality=[{"name": name, "check": "unique"}]).asset for name in ("*", "t")]
    assert [check["name"] for check in combine_assets(checks)[EXPECTATIONS]["checks"]] == ["*", "t"]


CHANGES: dict[str, tuple[dict[tuple[str, ...], Any], str, str]] = {
    "value": ({("description",): "New: 'text'"}, "description: Everybody who", "description: \"New: 'text'\""),
    "list item": ({("tags",): frozenset(["payments", "new"])}, "tags: [payments, production]", "tags: [payments, new]"),
    "second list item": ({("owners",): frozenset(["data-team@company.com", "bob"])}, "owner: data-team@company.com #", "owner: [data-team@company.com, bob] #"),
    "other value": ({("dataProducts",): frozenset(["Other"])}, 'data_product: "Customer 360"', 'data_product: "Other"'),
    "removed key": ({("retentionDays",): None}, "    retention_days: 90\n", ""),
    "added key": ({("certification",): "Gold"}, "", "      certification: Gold\n"),
    "column": ({("columns", "created_at", "classifications"): frozenset(["A"])}, "type: timestamp}", "type: timestamp, classification: A}"),
    "custom property": ({("customProperties", "cost_center"): 5}, "cost_center: 4711", "cost_center: 5"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_edit_changes_one_line(changes: dict[tuple[str, ...], Any], before: str, after: str) -> None:
    assert before in TEXT
    changed = edit_asset_text(TEXT, changes)
    assert after in changed
    lines, new_lines = set(TEXT.splitlines()), set(changed.splitlines())
    assert len(lines - new_lines) <= 1
    assert len(new_lines - lines) <= 1
    assert edit_asset_text(TEXT, {}) == TEXT


def test_edit_creates_missing_sections() -> None:
    changed = yaml.safe_load(
        edit_asset_text(HEAD, {("domain",): "sales", ("tags",): frozenset("ab"), ("tier",): None})
    )
    assert changed["asset"]["governance"] == {"openmetadata": {"domain": "sales"}, "tags": ["a", "b"]}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_edit_keeps_whitespace_and_line_ends(tmp_path: Path, end: str) -> None:
    text = "asset:\n  name:    t\n  namespace: db   # said by events\n  governance: {tags: [a,b],owner: ann}\n"
    file = tmp_path / "t.yaml"
    file.write_bytes(text.replace("\n", end).encode())
    own = load_assets([file]).loaded[0]
    edit = plan_file_edit(own, governance_facet(own.asset), {("description",): "new"}, ())
    assert edit.problems == ()
    assert edit.after == (text.rstrip("\n") + "\n  description: new\n").replace("\n", end)
    assert write_file(edit) is None
    assert file.read_bytes() == edit.after.encode()
    assert [path.name for path in tmp_path.iterdir()] == ["t.yaml"]


def test_file_errors_are_reported(tmp_path: Path) -> None:
    own = write_asset(tmp_path, asset_with_governance(tags=["a"])) and load_assets([tmp_path]).loaded[0]
    change = {("description",): "new"}
    edit = plan_file_edit(own, governance_facet(own.asset), change, ())
    for text, message in (("asset: [", "is not YAML"), ("asset: 1", "asset: "), ("\0", "is not YAML")):
        Path(own.source).write_text(text, encoding="utf-8")
        failed = plan_file_edit(own, governance_facet(own.asset), change, ())
        assert not failed.patch
        assert message in failed.problems[0]
    Path(own.source).unlink()
    assert "cannot be read" in plan_file_edit(own, governance_facet(own.asset), change, ()).problems[0]
    tmp_path.rmdir()
    assert "cannot be written" in (write_file(edit) or "")


def test_edit_of_file_excludes_fields_of_other_assets(tmp_path: Path) -> None:
    write_asset(tmp_path, asset_with_governance(tags=["a", "b"]))
    own = load_assets([tmp_path]).loaded[0]
    pattern = asset("*", governance={"tags": ["all"], "retention_days": 3})
    combined = combine_assets([pattern.asset, own.asset])[GOVERNANCE]
    changes = {("tags",): frozenset({"a", "new"}), ("retentionDays",): None}
    edit = plan_file_edit(own, combined, changes, ())
    assert yaml.safe_load(edit.after)["asset"]["governance"]["tags"] == ["a", "new"]
    problem = "was removed in OpenMetadata, but is set by other asset files"
    assert edit.problems == (
        f"{own.source}: retentionDays: 3 {problem}", f"{own.source}: tags: all {problem}",
    )  # fmt: skip


def test_loader_rereads_changed_files(tmp_path: Path) -> None:
    now = [10**18]
    reader = AssetLoader(lambda: now[0])

    def description(text: str | None) -> str | None:
        if text is not None:
            write_asset(tmp_path, asset(description=text))
        return next(iter(reader.read([tmp_path]).loaded)).asset.description

    assert description("one") == "one", "a recently changed file is read again"
    now[0] = 10**19
    assert description("two") == "two"
    before = reader.read([tmp_path]).loaded
    assert reader.read([tmp_path]).loaded[0] is before[0], "an unchanged file is not read again"
    assert description("6") == "6"
    (tmp_path / "t.yaml").write_text("asset: [", encoding="utf-8")
    assert len(reader.read([tmp_path]).problems) == len(reader.read([tmp_path]).problems) == 1
    (tmp_path / "t.yaml").unlink()
    assert reader.read([tmp_path]) == ([], [], 0)
