"""Payments: recording and reversing them, allocating them to items, and collecting claims."""
