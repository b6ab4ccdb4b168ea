"""Scenarios, the unversioned predecessors of workflows."""
