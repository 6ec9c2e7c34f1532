-- Counts executions that have just ended, in the minutes in which they began and ended.
--
-- Parameters:
--   executions: their ids, a JSON array
-- Index: rowid of job_execution, sqlite_autoindex_execution_minute_1
-- Called by: runs.count_ends
INSERT INTO cronograph.execution_minute AS c (minute, shard, ended, failures, successes)
WITH closed AS (
    SELECT substr(started_at, 1, 17) || '00.000000Z' AS began,
        substr(completed_at, 1, 17) || '00.000000Z' AS done,
        outcome, count(*) AS number
    FROM cronograph.job_execution WHERE id IN (SELECT value FROM json_each(:executions)) GROUP BY 1, 2, 3),
counted AS (
    SELECT done AS minute, number AS ended, 0 AS failures, 0 AS successes FROM closed
    UNION ALL
    SELECT began, 0, CASE WHEN outcome IN ('failed', 'lost', 'timed_out') THEN number ELSE 0 END,
        CASE WHEN outcome = 'success' THEN number ELSE 0 END
    FROM closed)
SELECT minute, 0, sum(ended), sum(failures), sum(successes) FROM counted GROUP BY minute
ON CONFLICT (minute, shard) DO UPDATE SET ended = c.ended + excluded.ended,
    failures = c.failures + excluded.failures, successes = c.successes + excluded.successes
