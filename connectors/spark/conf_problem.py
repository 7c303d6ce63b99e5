"""Problems in a Spark configuration, and their effect on lineage."""

from enum import StrEnum
from typing import NamedTuple

#: Problem and remedy that the checks before and after the job share, so that the problem is reported only once.
SERVICE_NOT_RUNNING = (
    "points to a service that is not running",
    "start `lineage-bridge serve`, or correct host and port",
)


class ProblemEffect(StrEnum):
    """Effect of a problem on the lineage of a job, worst first."""

    events_lost = "events are lost"
    setting_ignored = "the setting is ignored"
    maybe_intended = "it may be intended"


class ConfProblem(NamedTuple):
    """A problem of a conf: key, effect, description and remedy."""

    key: str
    effect: ProblemEffect
    problem: str
    remedy: str

    @property
    def is_error(self) -> bool:
        """True if the problem makes lineage incomplete or wrong."""
        return self.effect is not ProblemEffect.maybe_intended

    def __str__(self) -> str:
        effect = f"; {self.effect}" if self.is_error else ""
        return f"{'error' if self.is_error else 'warning'}: {self.key} {self.problem}{effect}: {self.remedy}"
