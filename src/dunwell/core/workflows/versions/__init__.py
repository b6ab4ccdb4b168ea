"""Versions of a definition: numbers, parts, and differences between two of them."""
