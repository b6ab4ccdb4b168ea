"""What a draft of the rules would have done to the claims of the last 30 days."""
