"""Converts events to a form that Marquez accepts, and Marquez lists to events."""
