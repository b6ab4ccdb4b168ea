"""Processes: the list of workflows, the editor of a draft, publishing, history, the switch."""
