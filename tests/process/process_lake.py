"""A lake in a folder, a store beside it, and process files: what processes need, but Spark."""

import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bridge.process.backend import StoreBackend
from bridge.process.definition import ProcessDefinition
from bridge.process.manifest import MANIFEST_NAME, VersionManifest, VersionRoot
from bridge.process.plan import Plan
from bridge.process.planner import Planner, RunRequest
from bridge.queries.query import QueryContext, StoreQueryService
from bridge.settings.yaml_model import read_model
from bridge.versions.command import CommandContext
from bridge.versions.publish_commands import PublishCommand, PublishItem
from bridge.versions.registry import VersionRegistry
from connectors.spark.file_system import FileSystems
from mappers.logical_job import FoldingRule
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
        self.registry = VersionRegistry(store.db, store.org, lambda: int(NOW.timestamp() * 1_000_000))
        catalogue = StoreQueryService(QueryContext(store.db, store.org, FoldingRule()))
        self.link = StoreBackend(
            catalogue, CommandContext(self.registry, self.registry.graph, "test"), store.reader, store.writer
        )
        self.storage = FileSystems(no_spark)
        self.runs = 0

    def file(self, text: str, name: str = "p") -> Path:
        path = self.folder / f"{name}.yaml"
        path.write_text(f"process: {{name: {name}}}\n{textwrap.dedent(text)}", encoding="utf-8")
        return path

    def wanted(self, text: str, name: str = "p", **given: Any) -> RunRequest:
        file = self.file(text, name)
        self.runs += 1
        params = given.pop("params", {})
        run_id = RUN.format(self.runs)
        return RunRequest(read_model(file, ProcessDefinition), file, params, run_id, str(self.lake), **given)

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
        roots: "list[VersionRoot] | None" = None,
        publish: bool = True,
        kind: str = "COMPLETE",
        **facets: Json,
    ) -> Path:
        """Let a version be, as a process leaves it: its files, its content, its run, and that it is published."""
        folder = self.lake / dataset / f"_version={tag}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"rows")
        content = VersionManifest(
            tag,
            key or f"key of {tag}",
            "parquet",
            roots or [VersionRoot(str(folder), tag, key or f"key of {tag}")],
            dict(columns),
            3,
        )
        (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(content))
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
        self.link.execute(
            PublishCommand(datasets=[PublishItem(namespace="file", name=self.path(dataset), version=tag)])
        )
