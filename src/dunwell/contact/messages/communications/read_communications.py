"""What was sent to debtors: a claim's communications, a single one, and contacts whose delivery is
unknown.
"""

from uuid import UUID

# Before all ids.
FIRST = UUID(int=0)
