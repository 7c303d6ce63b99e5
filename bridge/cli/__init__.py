"""The command line: `lineage-bridge`."""
