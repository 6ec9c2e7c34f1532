-- Ends attempts in any way: locks the runs, ends those that are still this node's, completes their executions.
--
-- The runs are locked in ascending order, so that two bulk actions never wait for each other. The conditions are on what
-- was locked: on the table itself they would tempt the planner to its index of states.
--
-- Parameters:
--   node_id: the node that executed them
--   now: the time of the end
--   endings: a JSON array of objects with the fields of `Ending`
-- Index: pk_run, pk_job_execution, pk_execution_minute
-- Called by: finish.end_attempts
WITH endings AS (
    SELECT * FROM json_to_recordset(CAST(:endings AS json)) AS ending(
        id bigint, attempt bigint, cancelled boolean, execution_id bigint, state text, failures bigint,
        available_at timestamptz, finished_at timestamptz, error text, awaits jsonb, wake_at timestamptz, value jsonb, progress jsonb, success boolean,
        outcome text, error_type text, traceback text, records_processed bigint, log_lines bigint, log_cut bigint,
        trace_id text)),
held AS (
    SELECT r.id, r.state, r.attempt, r.node_id, r.cancel_requested_at IS NOT NULL AS cancel_requested
    FROM cronograph.run r WHERE r.id IN (SELECT id FROM endings) ORDER BY r.id FOR UPDATE),
ended AS (
    UPDATE cronograph.run r
    SET state = n.state, failures = n.failures, available_at = coalesce(n.available_at, r.available_at),
        finished_at = n.finished_at, done_attempt = n.attempt, error = n.error, result = n.value,
        awaits = n.awaits, wake_at = n.wake_at,
        progress = coalesce(n.progress, r.progress)
    FROM endings n, held h
    WHERE r.id = n.id AND h.id = n.id AND h.attempt = n.attempt AND h.node_id = CAST(:node_id AS bigint)
      AND h.state = 'running' AND (NOT h.cancel_requested OR n.cancelled) AND r.finished_at IS NULL
    RETURNING r.id),
closed AS (
    UPDATE cronograph.job_execution x
    SET completed_at = CAST(:now AS timestamptz), success = n.success, outcome = n.outcome, error_message = n.error,
        error_type = n.error_type, traceback = n.traceback, records_processed = n.records_processed, value = n.value,
        progress = coalesce(n.progress, x.progress), log_lines = n.log_lines, log_cut = n.log_cut,
        trace_id = n.trace_id
    FROM endings n, ended d WHERE x.id = n.execution_id AND d.id = n.id AND x.completed_at IS NULL
    RETURNING x.started_at, x.completed_at, x.outcome),
counted AS (
    INSERT INTO cronograph.execution_minute AS c (minute, shard, ended, failures, successes)
    SELECT m.minute, pg_backend_pid(), sum(m.ended), sum(m.failures), sum(m.successes)
    FROM closed x, LATERAL (VALUES
        (date_trunc('minute', x.completed_at), 1, 0, 0),
        (date_trunc('minute', x.started_at), 0, (x.outcome IN ('failed', 'lost', 'timed_out'))::int,
         (x.outcome = 'success')::int)) m(minute, ended, failures, successes)
    GROUP BY m.minute
    ON CONFLICT (minute, shard) DO UPDATE SET ended = c.ended + excluded.ended,
        failures = c.failures + excluded.failures, successes = c.successes + excluded.successes)
SELECT h.id, h.state, h.attempt, h.node_id, h.cancel_requested, d.id IS NOT NULL AS ended
FROM held h LEFT JOIN ended d ON d.id = h.id
