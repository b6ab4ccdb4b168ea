"""Bank statements: read the files of banks and find the claims that were paid."""
