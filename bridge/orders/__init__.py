"""What the registry is told to do, by whom it may be told, and how."""
