"""Canonical namespaces, short names, logical jobs and step names."""

import pytest

from mappers.logical_job import FoldingRule, JobAncestry, is_action, logical_job, step_name
from mappers.naming import canonical_namespace, short_name, source_type, storage_path
from mappers.openlineage.names import repair_path, repair_symlink


@pytest.mark.parametrize(
    ("namespace", "canonical", "kind"),
    [
        ("s3a://bucket", "s3://bucket", "s3"),
        ("s3n://bucket", "s3://bucket", "s3"),
        ("S3A://bucket", "s3://bucket", "s3"),
        ("s3://bucket", "s3://bucket", "s3"),
        ("postgresql://h:5432", "postgres://h:5432", "postgres"),
        ("sqlserver://h:1433", "mssql://h:1433", "mssql"),
        ("file", "file", "file"),
        ("file:/data/warehouse", "file:/data/warehouse", "file"),
        ("bigquery", "bigquery", "bigquery"),
        ("arn:aws:glue:eu:1", "arn:aws:glue:eu:1", "arn"),
        ("prod-spark", "prod-spark", "prod-spark"),
    ],
)
def test_canonical_namespace_and_source_type(namespace: str, canonical: str, kind: str) -> None:
    assert canonical_namespace(namespace) == canonical
    assert canonical_namespace(canonical) == canonical
    assert source_type(canonical) == kind


@pytest.mark.parametrize(
    ("namespace", "name", "path"),
    [
        ("file", "/data/x", "/data/x"),
        ("s3://bucket", "key/x", "s3://bucket/key/x"),
        ("s3://bucket/", "/key/x", "s3://bucket/key/x"),
        ("postgres://h:1", "d.s.t", None),
        ("file:/warehouse", "db.t", None),
        ("file:/warehouse", "/warehouse/db/t", "/warehouse/db/t"),
    ],
)
def test_only_files_have_a_storage_path(namespace: str, name: str, path: str | None) -> None:
    assert storage_path(namespace, name) == path


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("/data/out/bands", "out.bands"),
        ("/w/sales.db/orders", "sales.orders"),
        ("a.b.c", "b.c"),
        ("t", "t"),
        ("/t", "t"),
    ],
)
def test_short_name(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("name", "repaired"),
    [
        ("/w/x.db/x.db/t", "/w/x.db/t"),
        ("x.db/x.db/t", "x.db/t"),
        ("/w/x.db/y.db/t", "/w/x.db/y.db/t"),
        ("/w/ax.db/x.db/t", "/w/ax.db/x.db/t"),
        ("/w/x.db/x.dbt", "/w/x.db/x.dbt"),
    ],
)
def test_duplicated_database_directory_is_repaired(name: str, repaired: str) -> None:
    assert repair_path(name) == repaired


@pytest.mark.parametrize(
    ("namespace", "name", "repaired"),
    [
        ("file:/w/x.db", "x.t", "file:/w"),
        ("file:/w", "x.t", "file:/w"),
        ("file:/w/y.db", "x.t", "file:/w/y.db"),
        ("file:/w/x.db", "t", "file:/w/x.db"),
    ],
)
def test_database_directory_in_symlink_warehouse_is_repaired(namespace: str, name: str, repaired: str) -> None:
    assert repair_symlink(namespace, name) == repaired


LEAF, APP, DAG, ROOT = b"leaf", b"app", b"dag", b"root"
ACTION = JobAncestry(LEAF, True, APP, DAG, ROOT)


@pytest.mark.parametrize(
    ("ancestry", "granularity", "rule", "job"),
    [
        (ACTION, "run", FoldingRule(), APP),
        (ACTION, "step", FoldingRule(), APP),
        (ACTION, "job", FoldingRule(), DAG),
        (ACTION, "job", FoldingRule(job="application"), APP),
        (ACTION, "root", FoldingRule(), ROOT),
        (ACTION._replace(root=None), "root", FoldingRule(), DAG),
        (ACTION._replace(grandparent=None), "job", FoldingRule(), APP),
        (JobAncestry(LEAF, True), "job", FoldingRule(), LEAF),
        (JobAncestry(LEAF, False, APP, DAG, ROOT), "job", FoldingRule(), LEAF),
        (JobAncestry(LEAF, False, APP, DAG, ROOT), "step", FoldingRule(), LEAF),
        (JobAncestry(LEAF, False, APP, DAG, ROOT), "root", FoldingRule(), ROOT),
        (JobAncestry(LEAF, False), "root", FoldingRule(), LEAF),
    ],
)
def test_logical_job_by_granularity(ancestry: JobAncestry, granularity: str, rule: FoldingRule, job: bytes) -> None:
    assert logical_job(ancestry, granularity, rule) == job  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("integration", "kind", "action"),
    [
        ("SPARK", "SQL_JOB", True),
        ("spark", "rdd_job", True),
        ("SPARK", "APPLICATION", False),
        ("AIRFLOW", "SQL_JOB", False),
        (None, None, False),
    ],
)
def test_only_spark_actions_fold(integration: str | None, kind: str | None, action: bool) -> None:
    assert is_action(integration, kind) is action


@pytest.mark.parametrize(
    ("rule", "leaf", "application", "name"),
    [
        (FoldingRule(), "app.execute_insert.out_bands", "app", "write out.bands"),
        (FoldingRule(), "app.adaptive_spark_plan.out_bands", "app", "write out.bands"),
        (FoldingRule(step="listener"), "app.adaptive_spark_plan.out_bands", "app", "adaptive_spark_plan.out_bands"),
        (FoldingRule(step="listener"), "app.project", None, "app.project"),
    ],
)
def test_steps_are_named_by_effect_or_as_sent(
    rule: FoldingRule, leaf: str, application: str | None, name: str
) -> None:
    assert step_name(rule, leaf, application, "/data/out/bands") == name
