"""Pages of the assignment rules, which decide the workflow of a new claim, and of their draft."""
