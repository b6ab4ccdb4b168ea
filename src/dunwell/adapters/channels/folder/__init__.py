"""Letters into a folder on this machine."""
