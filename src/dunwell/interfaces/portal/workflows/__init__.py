"""Pages of workflows: the list, the editor of a draft, publishing, the version history, and the
switch from scenarios to workflows."""
