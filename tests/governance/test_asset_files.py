"""Asset files: read with the places of what is wrong, by the schema that editors have, and changed in their places."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from bridge.governance.asset import AssetFile, governance_facet
from bridge.governance.asset_files import AssetLoader, load_assets
from bridge.governance.facets import combine_assets
from bridge.governance.pull import edit_file, write_file
from bridge.governance.yaml_editor import edit_asset_text
from bridge.settings.yaml_model import json_schema
from bridge.store.governance_facets import CONTRACT, EXPECTATIONS, GOVERNANCE, SLA
from mappers.governance.facet import build_facet, facet_fields
from tests.governance.asset_harness import asset, governed, write_asset

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "configs" / "assets" / "stripe_customers.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


def problems(place: Path, text: str) -> list[str]:
    file = place / "a.yaml"
    file.write_text(text, encoding="utf-8")
    return [said.replace(str(place), "") for said in load_assets([file]).problems]


HEAD = "asset:\n  name: t\n  namespace: db\n"
WRONG = {
    "an unknown key": (HEAD + "  governance:\n    ownre: ann\n", "/a.yaml:5: unknown key asset.governance.ownre; did you mean owner? Valid: owner, tags,"),
    "a key of a column": (HEAD + "  schema:\n    - name: k\n      typ: int\n", "/a.yaml:6: unknown key asset.schema.0.typ; did you mean type?"),
    "a missing key": ("asset:\n  name: t\n", "/a.yaml:1: asset.namespace is missing"),
    "no asset": ("other: 1\n", "/a.yaml:1: asset is missing"),
    "a wrong value": (HEAD + "  governance:\n    retention_days: soon\n", "/a.yaml:5: asset.governance.retention_days: Input should be a valid integer"),
    "a time that is none": (HEAD + "  sla: {expected_by: '25:00'}\n", '/a.yaml:4: asset.sla.expected_by: must be a time such as "06:30", in quotes'),
    "no time zone": (HEAD + "  sla: {timezone: Mars/One}\n", "/a.yaml:4: asset.sla.timezone: unknown time zone"),
    "a key twice": (HEAD + "  category: a\n  category: b\n", "/a.yaml:5: category is set twice"),
    "a column twice": (HEAD + "  schema: [{name: k}, {name: k}]\n", "/a.yaml:1: asset: schema contains k twice"),
    "an alias": (HEAD + "  category: &c x\n  description: *c\n", "YAML aliases are not supported"),
    "a bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nasset: *b\n", "YAML aliases are not supported"),
    "a tag that would make an object": (HEAD + "  category: !!python/object/apply:os.system [ls]\n", "/a.yaml:4:"),
    "a tag that nobody knows": (HEAD + "  category: !secret x\n", "/a.yaml:4:"),
    "no number": (HEAD + "  custom_properties:\n    x: .nan\n", "/a.yaml:5: asset.custom_properties.x: is not a finite number"),
    "half a character": (HEAD + '  description: "a\\ud800"\n', "/a.yaml:4: asset.description: contains unsupported characters"),
    "a character that no database takes": (HEAD + '  governance: {tags: ["a\\0"]}\n', "/a.yaml:4: asset.governance.tags.0: contains"),
    "such a key": (HEAD + '  custom_properties: {"a\\0": 1}\n', "/a.yaml:4: asset.custom_properties: key"),
    "no YAML": ("asset: [\n", "is not YAML"),
    "nothing": ("", "/a.yaml:1:"),
    "a list": ("- asset\n", "/a.yaml:1:"),
    "too deep": ("[" * 5_000, "is not YAML"),
    "too large": ("#" * ((1 << 20) + 1), "is larger than 1 MB"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    found = problems(tmp_path, text)
    assert any(said in one for one in found), found


def test_no_file_keeps_another_back(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(HEAD, encoding="utf-8")
    (tmp_path / "bad.yml").write_text("asset: 1", encoding="utf-8")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("no asset", encoding="utf-8")
    read = load_assets([tmp_path, tmp_path / "gone"])
    assert ([one.asset.name for one in read.loaded], read.files, len(read.problems)) == (["t"], 3, 3)


def test_of_two_files_about_one_dataset_neither_is_taken(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(HEAD, encoding="utf-8")
    read = load_assets([tmp_path])
    assert read.loaded == []
    (problem,) = read.problems
    assert problem.endswith("both define db t")


def test_the_published_schema_is_that_of_the_code_and_takes_the_example() -> None:
    published = (ROOT / "configs" / "asset.schema.json").read_text(encoding="utf-8")
    assert published == json_schema(AssetFile, "An asset file of lineage-bridge"), (
        "lineage-bridge governance schema > configs/asset.schema.json"
    )
    validator = jsonschema_rs.validator_for(json.loads(published))
    assert validator.is_valid(yaml.safe_load(TEXT))
    assert not validator.is_valid({"asset": {"name": "t", "namespace": "db", "ownre": "x"}})


def test_the_example_is_taken_whole() -> None:
    (loaded,) = load_assets([EXAMPLE]).loaded
    facets = combine_assets([loaded.asset])
    assert set(facets) == {GOVERNANCE, CONTRACT, EXPECTATIONS, SLA}
    assert facets[GOVERNANCE]["owners"] == ["data-team@company.com"]
    assert build_facet(facet_fields(facets[GOVERNANCE]), facets[GOVERNANCE]) == facets[GOVERNANCE] | {
        "columns": sorted(facets[GOVERNANCE]["columns"], key=lambda one: one["name"])
    }


def test_patterns_come_first_and_what_can_be_several_unites() -> None:
    every, own = governed("*", tags=["lake"], owner="ann"), governed("t", tags=["t"], owner="bob")
    said = combine_assets([own.asset, every.asset])[GOVERNANCE]
    assert (said["tags"], said["owners"], said["asset"]) == (["lake", "t"], ["ann", "bob"], "t")
    checks = [asset(name, quality=[{"name": name, "check": "unique"}]).asset for name in ("*", "t")]
    assert [one["name"] for one in combine_assets(checks)[EXPECTATIONS]["checks"]] == ["*", "t"]


CHANGES: dict[str, tuple[dict[tuple[str, ...], Any], str, str]] = {
    "a value": ({("description",): "New: 'text'"}, "description: Everybody who", "description: \"New: 'text'\""),
    "a word of a list": ({("tags",): frozenset(["payments", "new"])}, "tags: [payments, production]", "tags: [payments, new]"),
    "a second word": ({("owners",): frozenset(["data-team@company.com", "bob"])}, "owner: data-team@company.com #", "owner: [data-team@company.com, bob] #"),
    "another word": ({("dataProducts",): frozenset(["Other"])}, 'data_product: "Customer 360"', 'data_product: "Other"'),
    "a key that goes": ({("retentionDays",): None}, "    retention_days: 90\n", ""),
    "a key that comes": ({("certification",): "Gold"}, "", "      certification: Gold\n"),
    "a column": ({("columns", "created_at", "classifications"): frozenset(["A"])}, "type: timestamp}", "type: timestamp, classification: A}"),
    "a custom property": ({("customProperties", "cost_center"): 5}, "cost_center: 4711", "cost_center: 5"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_moves_nothing_else(changes: dict[tuple[str, ...], Any], before: str, after: str) -> None:
    assert before in TEXT
    changed = edit_asset_text(TEXT, changes)
    assert after in changed
    lines, new = set(TEXT.splitlines()), set(changed.splitlines())
    assert len(lines - new) <= 1
    assert len(new - lines) <= 1
    assert edit_asset_text(TEXT, {}) == TEXT


def test_what_a_file_does_not_have_is_made() -> None:
    changed = yaml.safe_load(
        edit_asset_text(HEAD, {("domain",): "sales", ("tags",): frozenset("ab"), ("tier",): None})
    )
    assert changed["asset"]["governance"] == {"openmetadata": {"domain": "sales"}, "tags": ["a", "b"]}


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_blanks_and_ends_of_lines_stay(tmp_path: Path, end: str) -> None:
    text = "asset:\n  name:    t\n  namespace: db   # said by events\n  governance: {tags: [a,b],owner: ann}\n"
    file = tmp_path / "t.yaml"
    file.write_bytes(text.replace("\n", end).encode())
    own = load_assets([file]).loaded[0]
    pulled = edit_file(own, governance_facet(own.asset), {("description",): "new"}, ())
    assert pulled.problems == ()
    assert pulled.after == (text.rstrip("\n") + "\n  description: new\n").replace("\n", end)
    assert write_file(pulled) is None
    assert file.read_bytes() == pulled.after.encode()
    assert [one.name for one in tmp_path.iterdir()] == ["t.yaml"]


def test_a_file_that_cannot_be_changed_is_told(tmp_path: Path) -> None:
    own = write_asset(tmp_path, governed(tags=["a"])) and load_assets([tmp_path]).loaded[0]
    change = {("description",): "new"}
    pulled = edit_file(own, governance_facet(own.asset), change, ())
    for text, said in (("asset: [", "is not YAML"), ("asset: 1", "asset: "), ("\0", "is not YAML")):
        Path(own.source).write_text(text, encoding="utf-8")
        undone = edit_file(own, governance_facet(own.asset), change, ())
        assert not undone.patch
        assert said in undone.problems[0]
    Path(own.source).unlink()
    assert "cannot be read" in edit_file(own, governance_facet(own.asset), change, ()).problems[0]
    tmp_path.rmdir()
    assert "cannot be written" in (write_file(pulled) or "")


def test_of_what_several_assets_say_a_file_is_told_what_is_its_own(tmp_path: Path) -> None:
    write_asset(tmp_path, governed(tags=["a", "b"]))
    own = load_assets([tmp_path]).loaded[0]
    pattern = asset("*", governance={"tags": ["all"], "retention_days": 3})
    together = combine_assets([pattern.asset, own.asset])[GOVERNANCE]
    gone = {("tags",): frozenset({"a", "new"}), ("retentionDays",): None}
    pulled = edit_file(own, together, gone, ())
    assert yaml.safe_load(pulled.after)["asset"]["governance"]["tags"] == ["a", "new"]
    elsewhere = "was removed in OpenMetadata, but is set by other asset files"
    assert pulled.problems == (
        f"{own.source}: retentionDays: 3 {elsewhere}", f"{own.source}: tags: all {elsewhere}",
    )  # fmt: skip


def test_a_file_is_read_again_when_it_changed_or_may_have(tmp_path: Path) -> None:
    now = [10**18]
    reader = AssetLoader(lambda: now[0])

    def description(text: str | None) -> str | None:
        if text is not None:
            write_asset(tmp_path, asset(description=text))
        return next(iter(reader.read([tmp_path]).loaded)).asset.description

    assert description("one") == "one", "written long after it is read: it may be changed in this very moment"
    now[0] = 10**19
    assert description("two") == "two"
    before = reader.read([tmp_path]).loaded
    assert reader.read([tmp_path]).loaded[0] is before[0], "nothing is read anew"
    assert description("6") == "6"
    (tmp_path / "t.yaml").write_text("asset: [", encoding="utf-8")
    assert len(reader.read([tmp_path]).problems) == len(reader.read([tmp_path]).problems) == 1
    (tmp_path / "t.yaml").unlink()
    assert reader.read([tmp_path]) == ([], [], 0)
