"""Scenarios, which are edited in place until the merchant switches to workflows."""
