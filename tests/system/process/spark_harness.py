"""Runs processes on a real Spark session."""

from pathlib import Path
from typing import Any

from bridge.errors import NotFound
from bridge.process.backend import ProcessBackend
from bridge.process.plan import Plan
from bridge.process.runner import ProcessRunner, RunResult
from bridge.process.views import ViewBuilder
from bridge.queries.versions import ResolveVersionQuery
from tests.process.process_lake import ProcessHarness
from tests.stores import Store

TRADES = "id,account,amount,day\n1,a,10.5,2026-01-30\n2,b,20,2026-01-31\n3,a,1.5,2026-01-31\n"
RAW_INPUT = "inputs: [{dataset: raw, as: raw, format: csv, pin: live, columns: {id: int, account: string, amount: double, day: date}}]"


class SparkHarness(ProcessHarness):
    def __init__(self, folder: Path, store: Store, session: Any) -> None:
        super().__init__(folder, store)
        self.session = session
        self.messages: list[str] = []
        (self.lake / "raw").mkdir(parents=True)
        self.write_raw(TRADES)

    def write_raw(self, text: str) -> None:
        (self.lake / "raw" / "a.csv").write_text(text, encoding="utf-8")

    def runner(self, plan: Plan, backend: ProcessBackend | None = None) -> ProcessRunner:
        staging = str(self.folder / "staging")
        return ProcessRunner(
            plan,
            backend or self.backend,
            self.storage,
            lambda: self.session,
            staging=staging,
            report=self.messages.append,
        )

    def run(self, text: str, name: str = "p", **options: Any) -> RunResult:
        return self.runner(self.plan(text, name, **options)).run()

    def rows(self, dataset: str, pin: str = "published") -> list[tuple[Any, ...]]:
        """Rows of a dataset, read by another process."""
        plan = self.plan(
            f"inputs: [{{dataset: {dataset}, as: it, pin: '{pin}'}}]\noutputs: [{{dataset: o, from: it}}]\n", "reader"
        )
        builder = ViewBuilder(self.session, plan)
        builder.add_input(plan.inputs[0])
        return sorted(tuple(row) for row in builder.frames["it"].collect())

    def published(self, dataset: str) -> str | None:
        location = {"namespace": "file", "name": self.path(dataset)}
        try:
            return self.backend.query(ResolveVersionQuery(**location)).tag
        except NotFound:
            return None

    def state(self, run_id: str) -> str:
        return str(self.store.value("SELECT event_type FROM ol_run WHERE run_uuid = ?", run_id))


def process_yaml(output_options: str = "", steps: str = "", quality: str = "", sql: str = "SELECT * FROM raw") -> str:
    return f'{RAW_INPUT}\nsteps:\n  - {{name: made, sql: "{sql}"}}\n{steps}outputs: [{{dataset: positions, from: made{output_options}}}]\n{quality}'


def quality_yaml(*checks: str) -> str:
    return "quality:\n" + "".join(f"  - {{on: positions, {item}}}\n" for item in checks)
