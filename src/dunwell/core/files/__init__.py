"""Uploads and attachments: check untrusted files, store them, and show them."""
