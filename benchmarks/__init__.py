"""Programs that measure what the README promises."""
