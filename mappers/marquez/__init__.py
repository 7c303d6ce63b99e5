"""Maps events to what Marquez accepts, and Marquez lists to events."""
