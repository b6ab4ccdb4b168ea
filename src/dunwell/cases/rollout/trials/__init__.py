"""Trials of a workflow before it reaches debtors: simulations, SMS costs, and test messages to
oneself."""
