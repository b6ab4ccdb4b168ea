"""Paying: how much, by which way, and what came of it."""
