"""The texts of a workflow: shown as a grid, reviewed, and changed one at a time."""
