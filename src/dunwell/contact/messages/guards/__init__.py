"""Limits for contacts to a person, over all claims of a merchant."""
