"""Messages over all claims, and what a person settles there."""
