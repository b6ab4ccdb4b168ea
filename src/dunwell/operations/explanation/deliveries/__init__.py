"""How delivery providers and print batches are doing, as operators see it."""
