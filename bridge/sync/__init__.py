"""Keeps targets in sync with the store: pending items, their outcomes and retries."""
