"""Why a claim stands where it stands: facts of all the folders below, put in words."""
