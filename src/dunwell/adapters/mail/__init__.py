"""E-mails that come back: bounces from mail servers, and replies from debtors."""
