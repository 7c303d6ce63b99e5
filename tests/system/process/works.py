"""A workshop with a real Spark in it."""

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
READ = "inputs: [{dataset: raw, as: raw, format: csv, pin: live, columns: {id: int, account: string, amount: double, day: date}}]"


class Works(ProcessHarness):
    """A workshop with Spark in it."""

    def __init__(self, folder: Path, store: Store, session: Any) -> None:
        super().__init__(folder, store)
        self.session = session
        self.said: list[str] = []
        (self.lake / "raw").mkdir(parents=True)
        self.raw(TRADES)

    def raw(self, text: str) -> None:
        (self.lake / "raw" / "a.csv").write_text(text, encoding="utf-8")

    def runner(self, plan: Plan, link: ProcessBackend | None = None) -> ProcessRunner:
        staging = str(self.folder / "staging")
        return ProcessRunner(
            plan, link or self.backend, self.storage, lambda: self.session, staging=staging, report=self.said.append
        )

    def run(self, text: str, name: str = "p", **given: Any) -> RunResult:
        return self.runner(self.plan(text, name, **given)).run()

    def rows(self, dataset: str, pin: str = "published") -> list[tuple[Any, ...]]:
        """Read a dataset as another process does."""
        plan = self.plan(
            f"inputs: [{{dataset: {dataset}, as: it, pin: '{pin}'}}]\noutputs: [{{dataset: o, from: it}}]\n", "reader"
        )
        making = ViewBuilder(self.session, plan)
        making.add_input(plan.inputs[0])
        return sorted(tuple(row) for row in making.frames["it"].collect())

    def published(self, dataset: str) -> str | None:
        where = {"namespace": "file", "name": self.path(dataset)}
        try:
            return self.backend.query(ResolveVersionQuery(**where)).tag
        except NotFound:
            return None

    def state(self, run_id: str) -> str:
        return str(self.store.value("SELECT event_type FROM ol_run WHERE run_uuid = ?", run_id))


def process(out: str = "", steps: str = "", quality: str = "", sql: str = "SELECT * FROM raw") -> str:
    return f'{READ}\nsteps:\n  - {{name: made, sql: "{sql}"}}\n{steps}outputs: [{{dataset: positions, from: made{out}}}]\n{quality}'


def check(*checks: str) -> str:
    return "quality:\n" + "".join(f"  - {{on: positions, {one}}}\n" for one in checks)
