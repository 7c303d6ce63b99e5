"""A lake in a folder, a store, and process files: everything except Spark."""

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
RUN_ID = "01890000-0000-7000-8000-0000000000{:02x}"


def no_spark() -> Any:
    raise AssertionError("Spark was started")


class ProcessHarness:
    """Creates process files, versions and plans in a folder."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self.lake = folder / "lake"
        self.store = store
        self.registry = VersionRegistry(store.db, store.org, lambda: int(NOW.timestamp() * 1_000_000))
        query_service = StoreQueryService(QueryContext(store.db, store.org, FoldingRule()))
        self.backend = StoreBackend(
            query_service, CommandContext(self.registry, self.registry.graph, "test"), store.reader, store.writer
        )
        self.storage = FileSystems(no_spark)
        self.runs = 0

    def write_process(self, text: str, name: str = "p") -> Path:
        path = self.folder / f"{name}.yaml"
        path.write_text(f"process: {{name: {name}}}\n{textwrap.dedent(text)}", encoding="utf-8")
        return path

    def make_request(self, text: str, name: str = "p", **options: Any) -> RunRequest:
        file = self.write_process(text, name)
        self.runs += 1
        params = options.pop("params", {})
        run_id = RUN_ID.format(self.runs)
        return RunRequest(read_model(file, ProcessDefinition), file, params, run_id, str(self.lake), **options)

    def plan(self, text: str, name: str = "p", **options: Any) -> Plan:
        return Planner(self.backend, self.storage, NOW).plan(self.make_request(text, name, **options))

    def path(self, dataset: str) -> str:
        return f"{self.lake}/{dataset}"

    def write_version(
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
        """Create a version like a process does: files, manifest, run event and publication."""
        folder = self.lake / dataset / f"_version={tag}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"rows")
        manifest = VersionManifest(
            tag,
            key or f"key of {tag}",
            "parquet",
            roots or [VersionRoot(str(folder), tag, key or f"key of {tag}")],
            dict(columns),
            3,
        )
        (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(manifest))
        self.apply_version_event(
            dataset, tag, number, key=key or f"key of {tag}", path=str(folder), columns=columns, kind=kind, **facets
        )
        if publish:
            self.publish(dataset, tag)
        return folder

    def apply_version_event(
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
        """Apply the event of a run that wrote a version."""
        dataset_facets: Json = {"lineageBridge_path": facet(path=path)} if path else {}
        dataset_facets |= (
            {"schema": facet(fields=[{"name": name, "type": type_} for name, type_ in columns.items()])}
            if columns
            else {}
        )
        output_facets = {"lineageBridge_idempotencyKey": facet(key=key)} if key else {}
        output_facets |= {"outputStatistics": facet(rowCount=3)} | facets
        written = make.dataset(
            self.path(dataset),
            "file",
            output_facets=output_facets,
            version=facet(datasetVersion=tag),
            **dataset_facets,
        )
        self.store.apply(run_event(kind, number, run=number, outputs=[written]))

    def publish(self, dataset: str, tag: str) -> None:
        self.backend.execute(
            PublishCommand(datasets=[PublishItem(namespace="file", name=self.path(dataset), version=tag)])
        )
