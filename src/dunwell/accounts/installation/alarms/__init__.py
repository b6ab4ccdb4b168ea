"""Alarms: what is told to the operator when a person is needed and nobody looks (CONTRACT 15)."""
