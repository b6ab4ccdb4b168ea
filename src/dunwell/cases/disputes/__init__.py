"""Disputes: opening, resolving, withdrawing them, and what they do to a claim."""
