"""Bank statements: accounts, imports, open entries, and payouts of payment providers."""
