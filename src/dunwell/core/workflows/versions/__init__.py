"""Versions of a definition: names and numbers, parts, and what differs between two of them."""
