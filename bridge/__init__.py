"""lineage-bridge: lineage events kept durably, merged, and brought to the catalogues."""

__version__ = "0.1.0"
