"""The wire's names and shapes: what merchants send and are answered. No rules, no SQL."""
