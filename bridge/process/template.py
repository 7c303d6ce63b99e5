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

# Run parameters: :day in SQL, {{day}} in datasets and partitions.
params:
  day: {{type: date, required: true}}

inputs:
  # Bare names are below the lake; other datasets need a path. pin: published, latest, a version, a pin, or live for
  # files and tables without versions.
  - {{dataset: orders, as: orders, pin: published}}

steps:
  - name: daily
    sql: SELECT customer_id, sum(amount) AS amount, :day AS day FROM orders WHERE day = :day GROUP BY customer_id

outputs:
  - {{dataset: {output}, from: daily, format: parquet, partition_by: [day]}}

quality:
  # severity: fail prevents publication, warn only reports.
  - {{on: {output}, check: not_null, column: customer_id, severity: fail}}
  - {{on: {output}, check: unique, columns: [customer_id, day]}}
  - {{on: {output}, check: row_count, min: 1, severity: warn}}
"""


def render_template(name: str, file: str) -> str:
    """Render the process file of a new process. Its output is named after the last part of the process name."""
    _, _, last_part = name.strip(".").rpartition(".")
    return TEMPLATE.format(name=_yaml_string(name), file=file, output=_yaml_string(last_part.replace("-", "_")))


def _yaml_string(text: str) -> str:
    """Quote a string that YAML would read as another type, such as `on` or `1`."""
    try:
        return text if yaml.safe_load(text) == text else json.dumps(text)
    except yaml.YAMLError:
        return json.dumps(text)
