"""Read-only checks of everything that sync needs from OpenMetadata."""
