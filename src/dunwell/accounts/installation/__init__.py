"""What belongs to the whole installation and to no merchant (CONTRACT 15)."""
