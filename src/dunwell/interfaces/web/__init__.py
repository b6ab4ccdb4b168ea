"""The web toolkit that the portal and the debtor's pages share."""
