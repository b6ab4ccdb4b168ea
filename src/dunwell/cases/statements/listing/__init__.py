"""What staff reads of bank statements."""
