"""Child processes for work that may crash, stall or bloat: their pool, who gets one of them next,
and how they are confined."""
