"""Lines: what messages leave by, named in the installation file and used by merchants by name."""
