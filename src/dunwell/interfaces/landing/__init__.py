"""The debtor's pages: from the link or code to the claim, its payment and the receipt."""
