"""What the transactions of statements belong to: matched by rules, or decided by a person."""
