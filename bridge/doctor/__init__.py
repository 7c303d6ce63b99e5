"""What can be wrong with an installation, one noun a file; nothing here changes anything."""
