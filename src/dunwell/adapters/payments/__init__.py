"""Payment providers, one folder for each, and the address for their notifications."""
