"""A debtor's hour on the page, and the claim that it has opened."""
