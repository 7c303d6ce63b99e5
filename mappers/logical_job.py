"""Folds Spark actions into the logical jobs that users know.

The listener names an action `<application>.<plan node>.<last path parts>`. That name changes with the plan and
the Spark version, and unrelated actions can share it, so a step is named after the dataset that it writes.
"""

from typing import Literal, NamedTuple

from mappers.naming import short_name

Granularity = Literal["run", "step", "job", "root"]

#: Job types that the listener reports for single actions.
ACTION_TYPES = frozenset({"SQL_JOB", "RDD_JOB"})


class FoldingRule(NamedTuple):
    """How actions are folded into jobs."""

    #: The job that actions are folded into: the application, or the parent configured for it.
    job: Literal["parent", "application"] = "parent"
    #: How steps are named: after the dataset they write, or as the listener sends them.
    step: Literal["effect", "listener"] = "effect"
    #: Number of complete runs without an edge after which the edge is retired; 0: never.
    retire_after: int = 0


class JobAncestry(NamedTuple):
    """The job of a run (the leaf), and the jobs of its parent, grandparent and root runs."""

    leaf: bytes
    is_action: bool
    parent: bytes | None = None
    grandparent: bytes | None = None
    root: bytes | None = None


def is_action(integration: str | None, job_type: str | None) -> bool:
    """Return whether the Spark listener reported the job for a single action."""
    return (integration or "").upper() == "SPARK" and (job_type or "").upper() in ACTION_TYPES


def is_scheduled(integration: str | None) -> bool:
    """Return whether a scheduler (Autosys) defines the job, which may then be part of a box."""
    return (integration or "").upper() == "AUTOSYS"


def logical_job(ancestry: JobAncestry, granularity: Granularity, rule: FoldingRule) -> bytes:
    """Select the job under which a run is shown."""
    if granularity == "root":
        return ancestry.root or ancestry.grandparent or ancestry.parent or ancestry.leaf
    if not ancestry.is_action or ancestry.parent is None:
        return ancestry.leaf
    if granularity == "job" and rule.job == "parent" and ancestry.grandparent:
        return ancestry.grandparent
    return ancestry.parent


def step_name(rule: FoldingRule, action_name: str, application: str | None, target: str | None) -> str:
    """Name a step of an application after the dataset that the step wrote, if any."""
    if rule.step == "effect" and target is not None:
        return f"write {short_name(target)}"
    if application:
        return action_name.removeprefix(f"{application}.")
    return action_name
