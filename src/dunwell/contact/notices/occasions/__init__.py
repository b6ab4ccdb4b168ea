"""Occasions of which a debtor is notified exactly once, outside the workflow."""
