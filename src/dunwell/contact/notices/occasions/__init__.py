"""What a debtor is told exactly once, outside the workflow."""
