"""The audit log of a merchant."""
