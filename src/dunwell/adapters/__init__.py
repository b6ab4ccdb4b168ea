"""The adapters of outside systems, one folder for each, with their callback routes. An adapter uses
only ports and pure values of the domain; callback routes and loops that fetch also call use cases.
"""
