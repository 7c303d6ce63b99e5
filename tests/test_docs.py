"""Generated pages are up to date, links resolve, and cited tests exist."""

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


PAGE_RENDERERS = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))["PAGES"]


@pytest.mark.parametrize("page", PAGE_RENDERERS, ids=lambda page: page.stem)
def test_reference_page_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == PAGE_RENDERERS[page](), "run `make docs`"


def test_query_examples_are_up_to_date() -> None:
    examples = runpy.run_path(str(ROOT / "docs" / "make_examples.py"))
    assert examples["PAGE"].read_text(encoding="utf-8") == examples["render"](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_and_cited_tests_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in _LINK.findall(text):
        assert (page.parent / link).exists(), link
    for path, name in _TEST.findall(text):
        assert (ROOT / path).exists(), path
        if name:
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_every_dependency_is_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    groups = [project["project"]["dependencies"], *extras, *project["dependency-groups"].values()]
    declared = {re.split(r"[\[<>=;~ ]", requirement)[0] for group in groups for requirement in group} - {
        "lineage-bridge"
    }
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert {name for name in declared if f"| {name} |" not in page} == set()


def test_legacy_mappers_import_only_packages_of_extra_autosys() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {
        re.split(r"[\[<>=;~ ]", requirement)[0].replace("-", "_")
        for requirement in (*project["dependencies"], *project["optional-dependencies"]["autosys"])
    }
    imports = {
        match[1]
        for file in (ROOT / "mappers" / "legacy").rglob("*.py")
        for match in re.finditer(r"^ *(?:from|import) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert imports - installed - set(sys.stdlib_module_names) - {"mappers"} == set()
