"""The vocabulary of the store: what is known, and how two statements about it merge."""
