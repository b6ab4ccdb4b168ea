"""Contacts on their way out: prepared, checked once more at the gate, handed over, and their
outcomes.
"""
