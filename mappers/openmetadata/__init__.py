"""From the canonical vocabulary to the requests of OpenMetadata."""
