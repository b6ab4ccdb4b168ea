"""Child processes for work that may crash, stall or use too much memory: the pool, the queue in
front of it, and the confinement of a child."""
