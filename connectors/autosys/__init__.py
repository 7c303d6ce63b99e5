"""Files of Autosys: JIL, reports, logs."""
