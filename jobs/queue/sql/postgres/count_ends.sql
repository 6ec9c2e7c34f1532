-- Counts executions that have just ended and that no other statement counts.
--
-- They are counted in the minutes in which they began and ended.
--
-- Parameters:
--   executions: their ids, an array
-- Index: pk_job_execution, pk_execution_minute
-- Called by: runs.count_ends
INSERT INTO cronograph.execution_minute AS c (minute, shard, ended, failures, successes)
WITH closed AS (
    SELECT date_trunc('minute', started_at) AS began,
        date_trunc('minute', completed_at) AS done,
        outcome, count(*) AS number
    FROM cronograph.job_execution WHERE id = ANY(CAST(:executions AS bigint[])) GROUP BY 1, 2, 3),
counted AS (
    SELECT done AS minute, number AS ended, 0 AS failures, 0 AS successes FROM closed
    UNION ALL
    SELECT began, 0, CASE WHEN outcome IN ('failed', 'lost', 'timed_out') THEN number ELSE 0 END,
        CASE WHEN outcome = 'success' THEN number ELSE 0 END
    FROM closed)
SELECT minute, pg_backend_pid(), sum(ended), sum(failures), sum(successes) FROM counted GROUP BY minute
ON CONFLICT (minute, shard) DO UPDATE SET ended = c.ended + excluded.ended,
    failures = c.failures + excluded.failures, successes = c.successes + excluded.successes
