"""Runs the `lineage-bridge` command as `python -m bridge`."""

from bridge.cli.main import main

main()
