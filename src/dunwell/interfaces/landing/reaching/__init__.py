"""How a debtor is reached: language, channels, addresses."""
