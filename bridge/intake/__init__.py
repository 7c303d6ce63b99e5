"""Intake: every input is parsed, mapped and committed here."""
