"""Bank statements: reading the files of banks and finding the claims that were paid."""
