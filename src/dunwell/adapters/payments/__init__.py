"""Payment providers, a folder each, and the address their notices come to."""
