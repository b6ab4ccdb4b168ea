"""Send contacts: prepare, check and hand over messages, and record their outcomes."""
