"""The texts of a process: written, looked at as debtors get them, sent to oneself, simulated."""
