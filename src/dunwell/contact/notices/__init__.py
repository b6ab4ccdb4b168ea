"""Notices: messages that a debtor requests or has to receive outside the workflow, such as codes,
links, receipts and confirmations."""
