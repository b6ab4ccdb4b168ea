"""Creating claims: checking, storing and assigning them."""
