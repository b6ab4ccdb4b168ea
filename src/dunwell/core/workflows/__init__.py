"""Workflow definitions, their versions, drafts and scenarios."""
