"""Fonts: which of those there are print a letter's characters."""
