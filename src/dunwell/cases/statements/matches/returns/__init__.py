"""Match returned payments: find the original entries, and reverse their parts."""
