"""Matching open transactions again."""
