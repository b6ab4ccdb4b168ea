"""Drafts of workflows: who changed what, edits in parts or as a whole, publication."""
