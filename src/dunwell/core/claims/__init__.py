"""Claims, their items, balances and holds: what is owed, and what state the claim is in."""
