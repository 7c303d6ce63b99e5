"""Which job and which step people mean, behind the actions that the Spark listener names.

The listener calls an action `<application>.<plan node>.<last path parts>`. That name changes with the plan
and with Spark's version, and unrelated actions share it, so a step is named after its effect.
"""

from typing import Literal, NamedTuple

from mappers.naming import short_name

Granularity = Literal["run", "step", "job", "root"]

#: The types of the jobs that the listener makes of single actions.
ACTION_TYPES = frozenset({"SQL_JOB", "RDD_JOB"})


class FoldingRule(NamedTuple):
    """How actions fold: under the application or its configured parent, named by effect or as sent."""

    job: Literal["parent", "application"] = "parent"
    step: Literal["effect", "listener"] = "effect"
    #: After how many complete runs without it an edge is gone; 0 for never.
    retire_after: int = 0


class Lineage(NamedTuple):
    """The jobs above one run: its own, its parent's, its parent's parent's and its root's."""

    leaf: bytes
    is_action: bool
    parent: bytes | None = None
    grandparent: bytes | None = None
    root: bytes | None = None


def is_action(integration: str | None, job_type: str | None) -> bool:
    """Tell whether a job is one action of a Spark application rather than a job people know."""
    return (integration or "").upper() == "SPARK" and (job_type or "").upper() in ACTION_TYPES


def folded_job(above: Lineage, granularity: Granularity, rule: FoldingRule) -> bytes:
    """Find the job under which a run is shown."""
    if granularity == "root":
        return above.root or above.grandparent or above.parent or above.leaf
    if not above.is_action or above.parent is None:
        return above.leaf
    if granularity == "job" and rule.job == "parent" and above.grandparent:
        return above.grandparent
    return above.parent


def step_name(rule: FoldingRule, leaf: str, application: str | None, target: str | None) -> str:
    """Name the step of an application after the target that it wrote, if it wrote one."""
    if rule.step == "effect" and target is not None:
        return f"write {short_name(target)}"
    return leaf.removeprefix(f"{application}.") if application else leaf
