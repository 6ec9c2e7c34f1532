-- Stores the ends of steps, of many runs at once, each if its attempt is still the run's.
--
-- The attempt and the node are the fence. The runs are locked for as long as this takes: who takes a run from its node
-- waits, so that the next attempt finds what is stored here, or this finds that the run is taken.
--
-- Parameters:
--   node_id, node: the node that executes the runs
--   now: the time of the event; null: the database's own
--   steps: a JSON array of objects with the fields of `StepRow`, in ascending order of their runs
-- Index: pk_run, pk_run_step
-- Called by: steps.rows_to_store
WITH held AS MATERIALIZED (
    SELECT g.*, r.job_name, r.group_name, r.task_id, r.task_name,
        NOT EXISTS (SELECT FROM cronograph.run_step s
                    WHERE s.run_id = g.run_id AND s.step = g.step AND s.failure = g.failure) AS is_new
    FROM json_to_recordset(CAST(:steps AS json)) AS g(
            place int, run_id bigint, step text, failure int, attempt int, started_at timestamptz,
            finished_at timestamptz, value json, error text, cleanup jsonb)
        CROSS JOIN LATERAL (
            SELECT r.job_name, r.group_name, r.task_id, r.task_name FROM cronograph.run_open r
            WHERE r.id = g.run_id AND r.attempt = g.attempt AND r.node_id + 0 = :node_id AND r.state || '' = 'running'
            FOR SHARE) r),
stored AS (
    INSERT INTO cronograph.run_step (run_id, step, failure, kind, state, attempt, started_at, finished_at, value, error,
        used, cleanup)
    SELECT h.run_id, h.step, h.failure, 'function', CASE WHEN h.error IS NULL THEN 'done' ELSE 'failed' END, h.attempt,
        h.started_at, h.finished_at, h.value, h.error, true, h.cleanup
    FROM held h
    WHERE h.is_new
    ON CONFLICT DO NOTHING),
{event_written}
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()), jsonb_build_array(jsonb_build_object(
        'steps', jsonb_agg(
            jsonb_build_array(h.run_id, h.job_name, h.group_name, h.task_id, h.task_name, h.step,
                CASE WHEN h.error IS NULL THEN 'done' ELSE 'failed' END) ORDER BY h.place),
        'node', CAST(:node AS text)))
    FROM held h WHERE h.is_new HAVING count(*) > 0)
SELECT h.place FROM held h
