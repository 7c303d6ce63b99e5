"""Files of Autosys: definitions, reports and logs."""
