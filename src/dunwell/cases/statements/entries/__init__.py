"""Store the entries of statements."""
