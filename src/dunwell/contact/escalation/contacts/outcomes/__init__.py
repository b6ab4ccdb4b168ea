"""What the answers of channels mean for contacts and claims."""
