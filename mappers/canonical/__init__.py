"""The canonical model: row classes, merge rules and ids."""
