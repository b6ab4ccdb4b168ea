"""How debtors are reached: messages, their sending, notices, and the escalation engine."""
