"""The claim's page, its documents, the debtor's other claims, and the end of a session."""
