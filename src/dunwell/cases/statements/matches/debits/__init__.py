"""Record the results of direct debits that statements and reports of banks contain."""
