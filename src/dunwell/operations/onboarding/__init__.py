"""Merchant files: what one may say, what it would change, and changing it (CONTRACT 11)."""
