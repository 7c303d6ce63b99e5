"""From the events of the store to those that Marquez takes, and back from what it lists."""
