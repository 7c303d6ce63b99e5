"""A lake in a folder, a store beside it, and process files: what processes need, but Spark."""

import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bridge.catalogue.question import StoreCatalogue, View
from bridge.orders.order import Desk
from bridge.orders.orders import Publish, ToPublish
from bridge.process.content import FILE, Content, Root
from bridge.process.definition import Definition
from bridge.process.link import StoreLink
from bridge.process.plan import Plan
from bridge.process.planning import Planner, Wanted
from bridge.registry.registry import Registry
from bridge.yaml_model import read_model
from connectors.spark.storage import Storage
from mappers.folding import FoldingRule
from tests import factories as make
from tests.factories import Json, facet, run_event
from tests.stores import Store

NOW = datetime(2026, 2, 1, 6, tzinfo=UTC)
RUN = "01890000-0000-7000-8000-0000000000{:02x}"


def no_spark() -> Any:
    raise AssertionError("Spark was asked for")


class Workshop:
    """A place to make processes in."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self.lake = folder / "lake"
        self.store = store
        self.registry = Registry(store.db, store.org, lambda: int(NOW.timestamp() * 1_000_000))
        catalogue = StoreCatalogue(View(store.db, store.org, FoldingRule()))
        self.link = StoreLink(catalogue, Desk(self.registry, self.registry.graph, "test"), store.reader, store.writer)
        self.storage = Storage(no_spark)
        self.runs = 0

    def file(self, text: str, name: str = "p") -> Path:
        path = self.folder / f"{name}.yaml"
        path.write_text(f"process: {{name: {name}}}\n{textwrap.dedent(text)}", encoding="utf-8")
        return path

    def wanted(self, text: str, name: str = "p", **given: Any) -> Wanted:
        file = self.file(text, name)
        self.runs += 1
        params = given.pop("params", {})
        run_id = RUN.format(self.runs)
        return Wanted(read_model(file, Definition), file, params, run_id, str(self.lake), **given)

    def plan(self, text: str, name: str = "p", **given: Any) -> Plan:
        return Planner(self.link, self.storage, NOW).plan(self.wanted(text, name, **given))

    def path(self, dataset: str) -> str:
        return f"{self.lake}/{dataset}"

    def version(
        self,
        dataset: str,
        tag: str,
        number: int,
        *,
        key: str = "",
        columns: Mapping[str, str] = {"id": "int", "amount": "double"},
        roots: "list[Root] | None" = None,
        publish: bool = True,
        kind: str = "COMPLETE",
        **facets: Json,
    ) -> Path:
        """Let a version be, as a process leaves it: its files, its content, its run, and that it is published."""
        folder = self.lake / dataset / f"_version={tag}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"rows")
        content = Content(
            tag,
            key or f"key of {tag}",
            "parquet",
            roots or [Root(str(folder), tag, key or f"key of {tag}")],
            dict(columns),
            3,
        )
        (folder / FILE).write_bytes(msgspec.json.encode(content))
        self.told(
            dataset, tag, number, key=key or f"key of {tag}", path=str(folder), columns=columns, kind=kind, **facets
        )
        if publish:
            self.publish(dataset, tag)
        return folder

    def told(
        self,
        dataset: str,
        tag: str,
        number: int,
        *,
        key: str | None = None,
        path: str | None = None,
        columns: Mapping[str, str] = {},
        kind: str = "COMPLETE",
        **facets: Json,
    ) -> None:
        """Let a run tell of a version."""
        more: Json = {"lineageBridge_path": facet(path=path)} if path else {}
        more |= (
            {"schema": facet(fields=[{"name": name, "type": of} for name, of in columns.items()])} if columns else {}
        )
        own = {"lineageBridge_idempotencyKey": facet(key=key)} if key else {}
        own |= {"outputStatistics": facet(rowCount=3)} | facets
        written = make.dataset(
            self.path(dataset), "file", output_facets=own, version=facet(datasetVersion=tag), **more
        )
        self.store.apply(run_event(kind, number, run=number, outputs=[written]))

    def publish(self, dataset: str, tag: str) -> None:
        self.link.order(Publish(datasets=[ToPublish(namespace="file", name=self.path(dataset), version=tag)]))
