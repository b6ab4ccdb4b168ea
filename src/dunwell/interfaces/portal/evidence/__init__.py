"""Files of debtors and merchants, shown as images of their pages."""
