"""Merchant accounts, their configuration, API credentials and tokens, permissions, and the audit
log."""
