"""What any service needs, with no domain word in it."""
