"""Storing the entries of statements."""
