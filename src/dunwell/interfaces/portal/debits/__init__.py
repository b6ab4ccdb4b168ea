"""Direct debits: mandates, debits, and the files for the bank."""
