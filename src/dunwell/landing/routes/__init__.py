"""The routes of the debtor's pages, one module for each stretch of the way."""
