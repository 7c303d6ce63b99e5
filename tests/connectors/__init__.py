"""Files of events and the HTTP client."""
