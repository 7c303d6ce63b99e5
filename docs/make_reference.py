"""Writes the pages of docs/reference from the code: `make docs`."""

from pathlib import Path

from docs.generators import commands, facets, http, settings, tables

_FOLDER = Path(__file__).parent / "reference"
PAGES = {
    _FOLDER / f"{name}.md": module.render
    for name, module in (
        ("commands", commands),
        ("facets", facets),
        ("http", http),
        ("settings", settings),
        ("tables", tables),
    )
}

if __name__ == "__main__":
    for page, render in PAGES.items():
        page.write_text(render(), encoding="utf-8")
