"""Drafts of workflows: edit parts or the whole, record who changed what, and publish."""
