"""The texts of a process: laid out, looked over, and changed one at a time."""
