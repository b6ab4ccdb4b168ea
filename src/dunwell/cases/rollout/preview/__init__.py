"""Previews: what a draft would do to running claims, and what its messages look like and cost."""
