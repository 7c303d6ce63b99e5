"""Marquez as a sync target."""

from typing import TypeAlias

from bridge.sync.context import TargetContext
from connectors.marquez.client import MarquezClient

NAME = "marquez"
MarquezContext: TypeAlias = TargetContext[MarquezClient, None]
