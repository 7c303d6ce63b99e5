"""Parsing SQL must not write statements, which may contain passwords, to the log."""

import logging
import subprocess
import sys

import pytest

from mappers.errors import InvalidSql
from mappers.sql.parser import parse_query
from mappers.sql.table_lineage import script_tables

#: The parser warns about these statements, and quotes them.
UNSUPPORTED = "CREATE USER etl IDENTIFIED BY 'hunter2'; INSERT INTO a SELECT * FROM b"


@pytest.fixture
def sqlglot_logger():
    logger = logging.getLogger("sqlglot")
    assert logger.filters == []
    return logger


def test_statement_text_does_not_reach_the_log(caplog, sqlglot_logger):
    with caplog.at_level(logging.DEBUG):
        assert script_tables(UNSUPPORTED).unparsed_numbers == []
        with pytest.raises(InvalidSql):
            parse_query("WITH x AS (SELECT 1) EXPLAIN SELECT 'hunter2'")
    assert caplog.text == ""


def test_parser_warnings_are_suppressed_only_during_the_call(caplog, sqlglot_logger):
    script_tables(UNSUPPORTED)
    script_tables("'unclosed; SELECT ((((")
    assert sqlglot_logger.filters == []
    sqlglot_logger.warning("still logged")
    assert "still logged" in caplog.text


def test_importing_the_module_does_not_configure_logging():
    code = (
        "import logging, sqlglot\n"
        "def state(name):\n"
        "    logger = logging.getLogger(name)\n"
        "    return logger.filters, logger.handlers, logger.level, logger.disabled, logger.propagate\n"
        "before = [repr(state(name)) for name in (None, 'sqlglot')]\n"
        "import mappers.sql.table_lineage\n"
        "assert [repr(state(name)) for name in (None, 'sqlglot')] == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
