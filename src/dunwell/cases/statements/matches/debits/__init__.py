"""What statements and reports say about direct debits."""
