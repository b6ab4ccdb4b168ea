"""Claims with their items, balances and holds."""
