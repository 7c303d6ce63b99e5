"""Helpers for configuration files and their errors."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.settings.loader import load_settings
from connectors.errors import ConfigError

WriteConfig = Callable[[str], Path]


def load_error(*paths: Path) -> str:
    with pytest.raises(ConfigError) as error:
        load_settings(paths)
    return str(error.value)
