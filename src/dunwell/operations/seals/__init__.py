"""Seals of the audit log: a chain of digests that shows any later change of a sealed row."""
