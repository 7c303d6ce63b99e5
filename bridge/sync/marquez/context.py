"""Context of the Marquez senders."""

from typing import TypeAlias

from bridge.sync.context import TargetContext
from connectors.marquez.client import MarquezClient

NAME = "marquez"
MarquezContext: TypeAlias = TargetContext[MarquezClient, None]
