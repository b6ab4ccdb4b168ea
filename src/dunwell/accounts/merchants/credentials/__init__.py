"""Credentials of merchants' programs: their secrets, tokens and rate limits."""
