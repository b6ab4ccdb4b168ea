"""The messages that debtors get about what happened on the pages and to their claim."""
