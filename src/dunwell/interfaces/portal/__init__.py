"""The portal, in which the staff of the operator and of the merchants work on claims."""
