"""SQL fragments that differ between SQLite and PostgreSQL."""

from typing import NamedTuple


class Dialect(NamedTuple):
    """The SQL fragments of one database, used in views and triggers."""

    iso: str
    hex: str
    position: str
    zero_id: str
    group_columns_query: str
    run_facets: str
    error_message: str
    is_distinct: str
    create_trigger: tuple[str, ...]


#: Microseconds within the second; the sum handles times before 1970, as division truncates toward zero.
_FRACTION = "((({0}) % 1000000 + 1000000) % 1000000)"
_SECONDS = f"((({{0}}) - {_FRACTION}) / 1000000)"

SQLITE = Dialect(
    iso=f"strftime('%Y-%m-%dT%H:%M:%S', {_SECONDS}, 'unixepoch') || printf('.%06dZ', {_FRACTION})",
    hex="lower(hex({0}))",
    position="instr({0}, {1})",
    zero_id="zeroblob(16)",
    group_columns_query="""
SELECT s.org_id, s.class_id, s.first_seen, json_extract(c.value, '$.name') AS name,
  json_extract(c.value, '$.type') AS type, json_extract(c.value, '$.description') AS description,
  coalesce(json_extract(c.value, '$.ordinal'), c.key + 1) AS ordinal,
  coalesce(json_extract(c.value, '$.depth'), 0) AS depth
FROM class_schema s JOIN json_each(s.columns_json) c
""",
    run_facets="json_group_object({0}, json({1}))",
    error_message="CASE WHEN json_type({0}, '$.message') = 'text' THEN json_extract({0}, '$.message') END",
    is_distinct="IS NOT",
    create_trigger=(
        "DROP TRIGGER IF EXISTS {name}",
        "CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {when} BEGIN {body}; END",
    ),
)

POSTGRES = Dialect(
    iso=f"to_char(to_timestamp({_SECONDS}) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS')"
    f" || '.' || lpad({_FRACTION}::text, 6, '0') || 'Z'",
    hex="encode({0}, 'hex') COLLATE \"C\"",
    position="strpos({0}, {1})",
    zero_id="decode(repeat('00', 16), 'hex')",
    group_columns_query="""
SELECT s.org_id, s.class_id, s.first_seen, (c.value ->> 'name') COLLATE \"C\" AS name,
  c.value ->> 'type' AS type, c.value ->> 'description' AS description,
  coalesce((c.value ->> 'ordinal')::bigint, c.rn) AS ordinal, coalesce((c.value ->> 'depth')::bigint, 0) AS depth
FROM class_schema s CROSS JOIN json_array_elements(s.columns_json::json) WITH ORDINALITY AS c (value, rn)
""",
    run_facets="json_object_agg({0}, {1}::json)",
    error_message="CASE WHEN json_typeof({0}::json -> 'message') = 'string' THEN {0}::json ->> 'message' END",
    is_distinct="IS DISTINCT FROM",
    create_trigger=(
        "DROP TRIGGER IF EXISTS {name} ON {table}",
        """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
$trigger$ BEGIN {body}; RETURN NULL; END $trigger$
""",
        "CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {when} EXECUTE FUNCTION {name}()",
    ),
)
