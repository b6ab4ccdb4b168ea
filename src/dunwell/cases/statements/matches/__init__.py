"""Match the transactions of statements, by rules or by decisions of a person."""
