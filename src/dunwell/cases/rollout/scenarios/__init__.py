"""Scenarios: edited in place until the merchant switches to workflows."""
