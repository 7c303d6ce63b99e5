"""Template of `lineage-bridge process init`."""

import json

import yaml

TEMPLATE = """\
# `lineage-bridge process schema > process.schema.json` lets an editor check and complete this file.
#
# lineage-bridge process validate {file}      check the file
# lineage-bridge process plan {file}          show what a run would read and write
# lineage-bridge process run {file}           run it
process:
  name: {name}
  owner: you@example.com
  description: One sentence on the result.

  # Base path of bare dataset names. Without it, the setting process.lake applies.
  lake: {lake}

# Run parameters: :day in SQL, {{day}} in datasets and partitions. Replace the default by required: true.
params:
  day: {{type: date, default: "2026-01-31"}}

# Bare names are below the lake; other datasets need a path. pin: published, latest, a version, a pin, or live for
# files and tables without versions. Replace the step `orders` by an input:
# inputs:
#   - {{dataset: orders, as: orders, pin: published}}

steps:
  - name: orders
    sql: SELECT * FROM VALUES (1, 10.5), (1, 4.5), (2, 20.0) AS example(customer_id, amount)
  - name: daily
    sql: SELECT customer_id, sum(amount) AS amount, :day AS day FROM orders GROUP BY customer_id

outputs:
  - {{dataset: {output}, from: daily, format: parquet, partition_by: [day]}}

quality:
  # severity: fail prevents publication, warn only reports.
  - {{on: {output}, check: not_null, column: customer_id, severity: fail}}
  - {{on: {output}, check: unique, columns: [customer_id, day]}}
  - {{on: {output}, check: row_count, min: 1, severity: warn}}
"""


def render_template(name: str, file: str, lake: str) -> str:
    """Render a process file that runs as it is. Its output is named after the last part of the process name."""
    _, _, last_part = name.strip(".").rpartition(".")
    return TEMPLATE.format(
        name=_yaml_string(name), file=file, lake=_yaml_string(lake), output=_yaml_string(last_part.replace("-", "_"))
    )


def _yaml_string(text: str) -> str:
    """Quote a string that YAML would read as another type, such as `on` or `1`."""
    try:
        return text if yaml.safe_load(text) == text else json.dumps(text)
    except yaml.YAMLError:
        return json.dumps(text)
