"""Settings and the intake."""
