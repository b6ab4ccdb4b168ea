"""Lists of money and of messages over all claims, and what a person settles there."""
