"""How a debtor is contacted: language, channels, addresses and unsubscribing."""
