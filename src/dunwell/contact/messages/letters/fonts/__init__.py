"""Fonts for letters: reading font files and choosing fonts for a text."""
