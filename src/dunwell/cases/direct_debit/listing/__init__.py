"""What staff and merchants read of direct debits."""
