"""What given values are checked by: which characters a text holds, which words a fault has."""
