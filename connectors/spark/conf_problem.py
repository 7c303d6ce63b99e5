"""Problems of a Spark conf, and their effect on lineage."""

from enum import StrEnum
from typing import NamedTuple

#: Told once, whoever finds it: the question before the job, or the job.
SERVICE_NOT_RUNNING = ("has nobody who answers", "start `lineage-bridge serve`, or correct host and port")


class ProblemEffect(StrEnum):
    """What a finding does to the lineage of a job, worst first."""

    silent = "events do not arrive"
    ignored = "it is ignored"
    doubtful = "it may be meant"


class ConfProblem(NamedTuple):
    """One thing that is wrong: where, what, and what to do."""

    key: str
    effect: ProblemEffect
    problem: str
    remedy: str

    @property
    def is_error(self) -> bool:
        """Tell whether lineage is lost or told wrong by it."""
        return self.effect is not ProblemEffect.doubtful

    def __str__(self) -> str:
        effect = f"; {self.effect}" if self.is_error else ""
        return f"{'error' if self.is_error else 'warning'}: {self.key} {self.problem}{effect}: {self.remedy}"
