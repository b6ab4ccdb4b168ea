"""Merchant files (CONTRACT 11): check one, decide what it would change, and change it."""
