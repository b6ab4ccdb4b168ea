"""What channels answered, and what that means for contacts and claims."""
