"""Database triggers that queue stale search documents."""

from typing import Any, NamedTuple

from bridge.store.dialect import Dialect

_QUEUE = "INSERT INTO search_stale (org_id, id) VALUES (NEW.org_id, {id})"
_QUEUE_IF = "INSERT INTO search_stale (org_id, id) SELECT NEW.org_id, {id} WHERE {condition}"

#: True if the update changes a value, or overtakes another member of the group: the newest description and format
#: win.
_OVERTAKES = """
({changes}) OR EXISTS (
  SELECT 1 FROM ol_dataset m
  WHERE m.org_id = NEW.org_id AND m.class_id = NEW.class_id AND m.dataset_id <> NEW.dataset_id AND (
    (m.documentation_order < NEW.documentation_order
      AND (OLD.documentation_order IS NULL OR m.documentation_order > OLD.documentation_order))
    OR (m.storage_order < NEW.storage_order
      AND (OLD.storage_order IS NULL OR m.storage_order > OLD.storage_order))))
"""
_NEVER = -(1 << 63)
#: The order of the view `class_schema`.
_RANK = (
    f"coalesce({{0}}.written_at, {_NEVER}), coalesce({{0}}.declared_at, {_NEVER}), {{0}}.column_count,"
    f" coalesce({{0}}.read_at, {_NEVER}), {{0}}.schema_hash, {{0}}.columns_order"
)
#: Unchanged columns also change the dataset if their schema overtakes the schema of another member, or a deletion.
_SCHEMA_OVERTAKES = f"""
({{changes}}) OR EXISTS (
  SELECT 1 FROM ol_dataset d
  JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
  JOIN dataset_schema s ON s.org_id = m.org_id AND s.dataset_id = m.dataset_id
  WHERE d.org_id = NEW.org_id AND d.dataset_id = NEW.dataset_id
    AND ({_RANK.format("s")}) > ({_RANK.format("OLD")}) AND ({_RANK.format("s")}) < ({_RANK.format("NEW")}))
OR EXISTS (
  SELECT 1 FROM ol_dataset d
  JOIN ol_dataset m ON m.org_id = d.org_id AND m.class_id = d.class_id
  JOIN facet f ON f.org_id = m.org_id AND f.owner_id = m.dataset_id AND f.about_id = {{zero_id}} AND f.name = 'schema'
  WHERE d.org_id = NEW.org_id AND d.dataset_id = NEW.dataset_id AND f.body IS NULL
    AND f.facet_order > OLD.columns_order AND f.facet_order <= NEW.columns_order)
"""
_OWNER_IS_INDEXED = """
EXISTS (SELECT 1 FROM ol_dataset d WHERE d.org_id = NEW.org_id AND d.dataset_id = NEW.owner_id)
OR EXISTS (SELECT 1 FROM ol_job j WHERE j.org_id = NEW.org_id AND j.job_id = NEW.owner_id)
"""


class StalenessTrigger(NamedTuple):
    """Rows of a table that make documents stale: `when` tests the row alone, `condition` may query the store."""

    name: str
    table: str
    event: str
    ids: tuple[str, ...]
    when: str = ""
    condition: str = ""


def _staleness_triggers(dialect: Dialect) -> list[StalenessTrigger]:
    """Declare the triggers. A change that cannot affect a search document must not make it stale."""

    def changed(*columns: str) -> str:
        """Build the condition that any of these columns has changed."""
        return " OR ".join(f"OLD.{column} {dialect.is_distinct} NEW.{column}" for column in columns)

    dataset, job = ("NEW.dataset_id",), ("NEW.job_id",)
    owner_columns = ("owner_team", "owner_email")
    attributes_changed = changed("description", "default_format", *owner_columns)
    overtakes = _OVERTAKES.format(changes=attributes_changed)
    schema_overtakes = _SCHEMA_OVERTAKES.format(changes=changed("columns_json"), zero_id=dialect.zero_id)
    order_changed = changed("documentation_order", "ownership_order", "storage_order")
    indexed_facets = "'tags', 'ownership', 'schema', 'lineageBridge_governance'"
    is_indexed_facet = f"NEW.name IN ({indexed_facets}) AND NEW.about_id = {dialect.zero_id}"
    schema_order_changed = f"NEW.name = 'schema' AND ({changed('facet_order')})"
    facet_changed = f"{is_indexed_facet} AND ({changed('body')} OR ({schema_order_changed}))"
    registration_changed = changed("status", "request_order")
    return [
        StalenessTrigger("dataset_new", "ol_dataset", "INSERT", dataset),
        StalenessTrigger("dataset_told", "ol_dataset", "UPDATE", dataset, order_changed, overtakes),
        StalenessTrigger(
            "dataset_class", "ol_dataset", "UPDATE OF class_id", (*dataset, "OLD.class_id"), changed("class_id")
        ),
        StalenessTrigger("dataset_active", "ol_dataset", "UPDATE OF is_active", dataset, changed("is_active")),
        StalenessTrigger("job_new", "ol_job", "INSERT", job),
        StalenessTrigger(
            "job_told", "ol_job", "UPDATE", job, changed("description", "job_type", "integration", *owner_columns)
        ),
        StalenessTrigger("job_step", "lineage_edge", "INSERT", ("NEW.target_id",), "NEW.edge_role = 'PARENT'"),
        StalenessTrigger("schema_new", "dataset_schema", "INSERT", dataset),
        StalenessTrigger("schema_told", "dataset_schema", "UPDATE", dataset, "", schema_overtakes),
        StalenessTrigger("facet_new", "facet", "INSERT", ("NEW.owner_id",), is_indexed_facet, _OWNER_IS_INDEXED),
        StalenessTrigger("facet_told", "facet", "UPDATE", ("NEW.owner_id",), facet_changed, _OWNER_IS_INDEXED),
        StalenessTrigger("registration_new", "dataset_registration", "INSERT", dataset),
        StalenessTrigger("registration_told", "dataset_registration", "UPDATE", dataset, registration_changed),
    ]


def create_triggers(driver: Any, dialect: Dialect) -> None:
    """Recreate the triggers that queue stale documents."""
    for trigger in _staleness_triggers(dialect):
        template = _QUEUE_IF if trigger.condition else _QUEUE
        fragments = {
            "name": f"stale_{trigger.name}",
            "table": trigger.table,
            "event": trigger.event,
            "when": f"WHEN ({trigger.when})" if trigger.when else "",
            "body": "; ".join(template.format(id=id_, condition=trigger.condition) for id_ in trigger.ids),
        }
        for statement in dialect.create_trigger:
            driver.execute(statement.format(**fragments))
