"""What is wrong with a conf, and what it does to lineage."""

from enum import StrEnum
from typing import NamedTuple

#: Told once, whoever finds it: the question before the job, or the job.
NOBODY_ANSWERS = ("has nobody who answers", "start `lineage-bridge serve`, or correct host and port")


class Effect(StrEnum):
    """What a finding does to the lineage of a job, worst first."""

    silent = "events do not arrive"
    ignored = "it is ignored"
    doubtful = "it may be meant"


class Finding(NamedTuple):
    """One thing that is wrong: where, what, and what to do."""

    key: str
    effect: Effect
    problem: str
    remedy: str

    @property
    def matters(self) -> bool:
        """Tell whether lineage is lost or told wrong by it."""
        return self.effect is not Effect.doubtful

    def __str__(self) -> str:
        effect = f"; {self.effect}" if self.matters else ""
        return f"{'error' if self.matters else 'warning'}: {self.key} {self.problem}{effect}: {self.remedy}"
