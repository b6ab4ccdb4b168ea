"""What is done to many claims, or written out of a list, by the worker, and seen meanwhile."""
