"""Disputes: the list, one dispute with its evidence, and the response."""
