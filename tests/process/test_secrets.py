"""What is kept of a definition: nothing that somebody could log in with."""

from typing import Any

import pytest

from bridge.process.running import without_secrets

KEPT: list[tuple[Any, Any]] = [
    ({"options": {"user": "ann", "password": "x"}}, {"options": {"user": "ann", "password": "***"}}),
    (
        {"options": {"fs.s3a.secret.key": "x", "apiToken": "y"}},
        {"options": {"fs.s3a.secret.key": "***", "apiToken": "***"}},
    ),
    ({"url": "jdbc:mysql://ann:x@db/shop"}, {"url": "jdbc:mysql://ann:***@db/shop"}),
    ([{"sql": "SELECT passport FROM t"}, 1, None], [{"sql": "SELECT passport FROM t"}, 1, None]),
    ({"passport": "kept", "keys": ["id"]}, {"passport": "kept", "keys": ["id"]}),
]


@pytest.mark.parametrize(("given", "kept"), KEPT)
def test_secrets_are_hidden_and_nothing_else(given: Any, kept: Any) -> None:
    assert without_secrets(given) == kept
