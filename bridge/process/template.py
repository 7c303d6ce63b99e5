"""The process file that `lineage-bridge process init` begins with."""

import json

import yaml

TEMPLATE = """\
# `lineage-bridge process schema > process.schema.json` lets an editor check and complete this file.
#
# lineage-bridge process validate {file}      is it right?
# lineage-bridge process plan {file}          what would be read and written?
# lineage-bridge process run {file}           run it
process:
  name: {name}
  owner: you@example.com
  description: What this makes, in a sentence.

# Values that a run is given: :day in SQL, {{day}} in datasets and partitions.
params:
  day: {{type: date, required: true}}

inputs:
  # Datasets of the lake by a word, others by their path. pin: published, latest, a version, a pin; or live for files
  # and tables whose versions nobody keeps.
  - {{dataset: orders, as: orders, pin: published}}

steps:
  - name: daily
    sql: SELECT customer_id, sum(amount) AS amount, :day AS day FROM orders WHERE day = :day GROUP BY customer_id

outputs:
  - {{dataset: {word}, from: daily, format: parquet, partition_by: [day]}}

quality:
  # severity: fail lets nothing be published, warn only tells.
  - {{on: {word}, check: not_null, column: customer_id, severity: fail}}
  - {{on: {word}, check: unique, columns: [customer_id, day]}}
  - {{on: {word}, check: row_count, min: 1, severity: warn}}
"""


def render_template(name: str, file: str) -> str:
    """Write a first process file."""
    word = name.strip(".").rpartition(".")[2].replace("-", "_")
    return TEMPLATE.format(name=_text(name), file=file, word=_text(word))


def _text(word: str) -> str:
    """Write a word so that YAML takes it for text: `on` and `1` are none."""
    try:
        return word if yaml.safe_load(word) == word else json.dumps(word)
    except yaml.YAMLError:
        return json.dumps(word)
