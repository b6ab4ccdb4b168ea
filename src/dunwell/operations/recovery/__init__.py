"""Backups, the archive of the embedded database, and restores."""
