"""Objecting to a claim, with files, and taking it back."""
