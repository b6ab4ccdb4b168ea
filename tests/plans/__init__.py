"""Query plans beside 20,000 to 120,000 rows: `make contract` runs them, `make test` does not."""
