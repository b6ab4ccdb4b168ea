"""Signing in, one's own account, and other people's."""
