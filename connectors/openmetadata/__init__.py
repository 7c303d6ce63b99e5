"""OpenMetadata client."""
