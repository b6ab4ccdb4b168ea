"""Letters that a restore may have forgotten: found again, or settled by a person."""
