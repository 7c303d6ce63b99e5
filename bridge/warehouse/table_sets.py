"""Table sets (catalog, OpenLineage) and the lineage views on them."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from bridge.warehouse.catalog_tables import CATALOG_TABLES, dataset, lineage_edge, process
from bridge.warehouse.openlineage_tables import (
    OPENLINEAGE_TABLES,
    ol_column_lineage,
    ol_dataset,
    ol_job,
    ol_namespace,
    ol_run,
    ol_run_input,
    ol_run_output,
)
from connectors.errors import ConfigError


class TableSet(NamedTuple):
    """Tables, parents before children, and views on them."""

    tables: tuple[sa.Table, ...]
    views: dict[str, sa.Select[Any]]


def select_tables(*, openlineage: bool = False, openlineage_only: bool = False) -> TableSet:
    """Return the tables and views that the command-line options select."""
    if openlineage and openlineage_only:
        raise ConfigError("--openlineage and --openlineage-only exclude each other: use one")
    if openlineage_only:
        return TableSet(OPENLINEAGE_TABLES, OPENLINEAGE_VIEWS)
    if openlineage:
        return TableSet((*CATALOG_TABLES, *OPENLINEAGE_TABLES), CATALOG_VIEWS | OPENLINEAGE_VIEWS)
    return TableSet(CATALOG_TABLES, CATALOG_VIEWS)


def _join_condition(
    left: sa.FromClause, right: sa.FromClause, column: str, right_column: str = ""
) -> sa.ColumnElement[bool]:
    return sa.and_(left.c.org_id == right.c.org_id, left.c[column] == right.c[right_column or column])


def _lineage_edge_query() -> sa.Select[Any]:
    """Select edges with the names of both endpoints; a name is null if the catalog does not contain the endpoint."""
    edge = lineage_edge.alias("e")
    joined: sa.FromClause = edge
    names = {}
    for endpoint in ("source", "target"):
        end_dataset, end_process = dataset.alias(f"{endpoint}_dataset"), process.alias(f"{endpoint}_process")
        joined = joined.outerjoin(end_dataset, _join_condition(edge, end_dataset, f"{endpoint}_id", "dataset_id"))
        joined = joined.outerjoin(end_process, _join_condition(edge, end_process, f"{endpoint}_id", "process_id"))
        names[endpoint] = sa.func.coalesce(end_dataset.c.full_name, end_process.c.process_key).label(
            f"{endpoint}_name"
        )
    return sa.select(
        edge.c.org_id, edge.c.source_type, names["source"], edge.c.target_type, names["target"], edge.c.edge_role,
        edge.c.evidence, edge.c.first_seen, edge.c.last_seen,
    ).select_from(joined)  # fmt: skip


def _dataset_lineage_query() -> sa.Select[Any]:
    """Select the pairs of input and output datasets of each job."""
    inputs, outputs, run, job = (
        ol_run_input.alias("i"),
        ol_run_output.alias("o"),
        ol_run.alias("r"),
        ol_job.alias("j"),
    )
    source, target = ol_dataset.alias("source_ds"), ol_dataset.alias("target_ds")
    joined = inputs.join(outputs, _join_condition(inputs, outputs, "run_id")).join(
        run, _join_condition(inputs, run, "run_id")
    )
    joined = joined.join(job, _join_condition(run, job, "job_id"))
    joined = joined.join(source, _join_condition(inputs, source, "dataset_id")).join(
        target, _join_condition(outputs, target, "dataset_id")
    )
    names: list[sa.ColumnElement[Any]] = []
    for endpoint, end_table in (("source", source), ("target", target), ("job", job)):
        namespace = ol_namespace.alias(f"{endpoint}_ns")
        joined = joined.join(namespace, _join_condition(end_table, namespace, "namespace_id"))
        names += [
            namespace.c.namespace_uri.label(f"{endpoint}_namespace"),
            end_table.c.name.label(f"{endpoint}_name"),
        ]
    run_count = sa.func.count(sa.distinct(run.c.run_id)).label("runs")
    latest = sa.func.max(run.c.event_time).label("last_event_time")
    query = sa.select(inputs.c.org_id, *names, run_count, latest).select_from(joined)
    return query.group_by(inputs.c.org_id, *names)


def _column_lineage_query() -> sa.Select[Any]:
    """Select the active column lineage with job names."""
    lineage, job, namespace = ol_column_lineage.alias("c"), ol_job.alias("j"), ol_namespace.alias("job_ns")
    joined = lineage.outerjoin(job, _join_condition(lineage, job, "job_id"))
    joined = joined.outerjoin(namespace, _join_condition(job, namespace, "namespace_id"))
    prefixes = ("source_", "target_", "transformation_", "masking")
    lineage_columns = [column for column in lineage.c if column.name.startswith(prefixes)]
    job_names = [namespace.c.namespace_uri.label("job_namespace"), job.c.name.label("job_name")]
    query = sa.select(lineage.c.org_id, *lineage_columns, *job_names).select_from(joined)
    return query.where(lineage.c.is_active == sa.true())


CATALOG_VIEWS: dict[str, sa.Select[Any]] = {"v_lineage_edge": _lineage_edge_query()}
OPENLINEAGE_VIEWS: dict[str, sa.Select[Any]] = {
    "v_dataset_lineage": _dataset_lineage_query(),
    "v_column_lineage": _column_lineage_query(),
}
