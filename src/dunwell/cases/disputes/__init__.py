"""Disputes: opening, resolving and withdrawing them, and their effect on a claim."""
