"""Uploads and their tickets: checking untrusted files, keeping them, finding them again."""
