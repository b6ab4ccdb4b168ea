"""The entries of reports during the day, and the statement that confirms them."""
