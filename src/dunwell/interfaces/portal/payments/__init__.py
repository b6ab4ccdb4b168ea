"""Payments and payments started by debtors: lists, recording and reversing."""
