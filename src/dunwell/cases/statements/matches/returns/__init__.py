"""Payments that come back: the original entries, and how their parts are reversed."""
