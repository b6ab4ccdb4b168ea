"""What staff reads of bank statements and payouts."""
