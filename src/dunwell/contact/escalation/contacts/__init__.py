"""Contacts being sent: prepared, checked, handed over, and their outcomes."""
