"""Settings of the whole installation, which belong to no merchant (CONTRACT 15)."""
