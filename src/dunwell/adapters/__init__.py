"""The adapters of outside systems, one folder for each, with their callback routes. They know only
the ports and pure values of the domain."""
