"""An address as a target: it is told how runs end."""
