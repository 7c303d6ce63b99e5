"""Finds and reads Autosys files: JIL, reports, logs."""
