"""Messages a debtor asked for, outside any process: codes, links, receipts, confirmations."""
