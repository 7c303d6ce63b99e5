"""Lets `python -m bridge` stand in for the `lineage-bridge` command."""

from bridge.cli.main import main

main()
