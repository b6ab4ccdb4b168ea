"""Query plans with 20,000 to 120,000 rows. `make contract` runs these tests, `make test` does
not."""
