"""User and program interfaces: API, debtor's pages, portal, command line, worker."""
