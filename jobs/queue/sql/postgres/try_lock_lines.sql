-- Keeps others from enqueueing into these lines with caps until the commit, as far as nobody does so at this moment.
--
-- As `lock_lines`, but nobody is waited for.
--
-- Parameters:
--   lines: the lines
--   all: whether to lock all lines at once
-- Index: pk_run
-- Called by: caps.free_lines
WITH everything AS MATERIALIZED (
    SELECT CASE WHEN CAST(:all AS boolean) THEN pg_try_advisory_xact_lock(hashtextextended('cronograph lines', 0))
                ELSE pg_try_advisory_xact_lock_shared(hashtextextended('cronograph lines', 0)) END AS held)
SELECT u.name, CASE WHEN NOT e.held THEN false
                    ELSE CAST(:all AS boolean)
                         OR pg_try_advisory_xact_lock(hashtextextended('cronograph line ' || u.name, 0)) END AS held
FROM everything e CROSS JOIN unnest(CAST(:lines AS text[])) AS u(name)
