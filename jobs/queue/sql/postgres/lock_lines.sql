-- Waits for those who enqueue into these lines with caps, in one order, and keeps others from it until the commit.
--
-- Everybody shares a lock of all lines; who enqueues into very many takes that one alone, for itself.
--
-- Parameters:
--   lines: the lines
--   all: whether to lock all lines at once
-- Index: pk_run
-- Called by: caps._lock
SELECT CASE WHEN CAST(:all AS boolean) THEN CAST(pg_advisory_xact_lock(hashtextextended('cronograph lines', 0)) AS text)
            ELSE CAST(pg_advisory_xact_lock_shared(hashtextextended('cronograph lines', 0)) AS text) END
UNION ALL
SELECT CAST(pg_advisory_xact_lock(hashtextextended('cronograph line ' || k.name, 0)) AS text)
FROM (SELECT name FROM unnest(CAST(:lines AS text[])) AS u(name) WHERE NOT CAST(:all AS boolean)
      ORDER BY hashtextextended('cronograph line ' || name, 0) OFFSET 0) k
