"""The search index of claims, and searching it."""
