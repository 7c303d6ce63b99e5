"""What is decided of versions: which are published, pinned or invalid; and what processes are defined as."""
