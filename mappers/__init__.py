"""Pure translation between lineage formats: no I/O, no clock, no settings."""
