"""Search of claims: indexing them after they were created, and finding them."""
