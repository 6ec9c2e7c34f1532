-- Ends attempts that succeeded and of which nothing but a number is kept: the usual end, in one statement.
--
-- The attempt and the node are the fence, and so is that nobody asked the run to stop. The fences are written so that no
-- index can serve them: which one is best there depends on how full the queue is, of which statistics know too little.
--
-- Parameters:
--   node_id, node: the node that executed them
--   now: the time of the end; null: the database's own
--   ids, attempts, executions, records: of each attempt its run, its number, its execution, its records processed
--   traces: of each its trace; null: none of them has one
-- Index: pk_run, pk_job_execution, pk_execution_minute
-- Called by: finish.finish_common
WITH moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at),
ended AS (
    UPDATE cronograph.run r
    SET state = 'success', finished_at = m.at, done_attempt = r.attempt, error = NULL, result = NULL
    FROM unnest(CAST(:ids AS bigint[]), CAST(:attempts AS int[]), CAST(:executions AS bigint[]),
                CAST(:records AS bigint[]), CAST(:traces AS text[]))
         WITH ORDINALITY AS u(id, attempt, execution_id, records, trace_id, place), moment m
    WHERE r.id = u.id AND r.attempt = u.attempt AND r.node_id + 0 = :node_id AND r.state || '' = 'running'
      AND r.cancel_requested_at IS NULL AND r.finished_at IS NULL
    RETURNING r.id, r.job_name, r.group_name, r.task_id, r.task_name, r.flow_id, u.execution_id, u.records,
        u.trace_id, m.at),
closed AS (
    UPDATE cronograph.job_execution x
    SET completed_at = d.at, success = true, outcome = 'success', records_processed = d.records,
        trace_id = d.trace_id
    FROM ended d WHERE x.id = d.execution_id AND x.completed_at IS NULL
    RETURNING x.started_at, x.completed_at),
counted AS (
    INSERT INTO cronograph.execution_minute AS c (minute, shard, ended, failures, successes)
    SELECT m.minute, pg_backend_pid(), sum(m.ended), 0, sum(m.successes)
    FROM closed x, LATERAL (VALUES
        (date_trunc('minute', x.completed_at), 1, 0),
        (date_trunc('minute', x.started_at), 0, 1)) m(minute, ended, successes)
    GROUP BY m.minute
    ON CONFLICT (minute, shard) DO UPDATE SET ended = c.ended + excluded.ended,
        failures = c.failures + excluded.failures, successes = c.successes + excluded.successes),
{event_written}
    SELECT m.at, jsonb_build_array(jsonb_build_object(
        'ended', (SELECT jsonb_agg(
                      CASE WHEN flow_id IS NULL
                      THEN jsonb_build_array(id, execution_id, job_name, group_name, task_id, task_name)
                      ELSE jsonb_build_array(id, execution_id, job_name, group_name, task_id, task_name, flow_id) END
                      ORDER BY execution_id) FROM ended),
        'node', CAST(:node AS text)))
    FROM moment m WHERE EXISTS (SELECT FROM ended))
SELECT id FROM ended
