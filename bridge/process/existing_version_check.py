"""Evaluates changed checks on versions that exist already."""

from collections.abc import Callable, Mapping
from datetime import datetime

from bridge.process.backend import ProcessBackend, send_event
from bridge.process.check_sql import CheckOutcome, blocking_failures
from bridge.process.executor import PlanExecutor
from bridge.process.job_failure import job_failure
from bridge.process.output_writer import WriteResult
from bridge.process.plan import Plan
from bridge.process.run_events import check_results_event
from bridge.queries.runs import RunQuery
from bridge.versions.metadata_commands import PatchMetadataCommand
from connectors.errors import InvalidData
from mappers.errors import LineageBridgeError


class ExistingVersionCheck:
    """Checks the existing versions of all outputs of a plan, and stores the results on them."""

    def __init__(
        self,
        plan: Plan,
        backend: ProcessBackend,
        make_executor: Callable[[], PlanExecutor],
        clock: Callable[[], datetime],
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._make_executor = make_executor
        self._clock = clock

    def run(self) -> list[CheckOutcome]:
        """Evaluate and store the checks. Raises InvalidData if a blocking check fails."""
        results = self._evaluate()
        outcomes = [outcome for result in results.values() for outcome in result.outcomes]
        failures = blocking_failures(outcomes)
        for result in results.values():
            self._store_results(result, has_passed=not failures)
        if failures:
            consequence = "published versions stay published" if self._plan.is_up_to_date else "nothing is published"
            raise InvalidData(f"{'; '.join(map(str, failures))} ({consequence})")
        return outcomes

    def _evaluate(self) -> Mapping[str, WriteResult]:
        action = None
        try:
            executor = self._make_executor()
            try:
                executor.check_existing()
            finally:
                action = executor.current_action
        except LineageBridgeError:
            raise
        except Exception as error:
            # Spark and the Python code of steps may raise anything.
            raise job_failure(error, action) from error
        return executor.results

    def _store_results(self, result: WriteResult, *, has_passed: bool) -> None:
        """Store the outcomes as results of the run that wrote the version, and the conclusion as metadata.

        Without the hash of passed checks, the next run checks the version again.
        """
        planned_output = result.planned_output
        location, existing = planned_output.location, planned_output.existing
        if existing is not None and existing.run_id is not None and result.outcomes:
            job = self._backend.query(RunQuery(id=existing.run_id)).job
            event = check_results_event(
                (job.namespace, job.name), existing.run_id, self._clock(), location, result.outcomes
            )
            send_event(self._backend, event)
        failures = [str(outcome) for outcome in blocking_failures(result.outcomes)]
        metadata = self._plan.check_metadata(failures, has_passed=has_passed)
        self._backend.execute(
            PatchMetadataCommand(
                namespace=location.namespace, name=location.name, version=result.version, metadata=metadata
            )
        )
