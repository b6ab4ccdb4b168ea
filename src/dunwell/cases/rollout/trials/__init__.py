"""A process tried before debtors get it: simulated, priced, sent to oneself."""
