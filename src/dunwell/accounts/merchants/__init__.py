"""Merchant accounts, their configuration, API credentials and tokens, the audit log."""
