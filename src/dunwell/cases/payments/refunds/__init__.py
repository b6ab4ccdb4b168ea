"""Refunds that a merchant orders from a payment provider."""
