"""Governance as code: syncs asset files with the store and OpenMetadata, in both directions."""
