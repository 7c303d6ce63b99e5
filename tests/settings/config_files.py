"""Files of settings that a test writes, and what is said of those that are refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.settings.loader import load_settings
from connectors.errors import ConfigError

WriteConfig = Callable[[str], Path]


def refusal(*paths: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load_settings(paths)
    return str(raised.value)
