-- Contacts that left by a line; the others have none, and cost nothing here.
DROP INDEX CONCURRENTLY IF EXISTS communications_of_line;
CREATE INDEX CONCURRENTLY communications_of_line
    ON communications (line, settled_at) WHERE line IS NOT NULL;
