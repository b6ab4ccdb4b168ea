"""The debtor's pages: from the link or code to the claim, paying it, and the receipt."""
