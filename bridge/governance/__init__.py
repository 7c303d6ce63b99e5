"""Governance as code: what stewards write in asset files, in the store and in OpenMetadata, and back."""
