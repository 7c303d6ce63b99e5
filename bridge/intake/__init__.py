"""The one door: every event is read, mapped and committed here, whatever way it came."""
