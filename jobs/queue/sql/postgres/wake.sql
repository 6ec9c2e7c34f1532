-- Wakes those of these runs that are suspended: they wait again, with the place in the queue of this time.
--
-- In ascending order, so that those who wait for each other do so in one order.
--
-- Parameters:
--   ids: the runs
--   now: the time
-- Index: pk_run
-- Called by: changes.wake
WITH locked AS MATERIALIZED (
    SELECT r.id
    FROM (SELECT id FROM unnest(CAST(:ids AS bigint[])) AS u(id) ORDER BY id) w
    CROSS JOIN LATERAL (
        SELECT r.id FROM cronograph.run_open r WHERE r.id = w.id AND r.state || '' = 'suspended' FOR UPDATE) r)
UPDATE cronograph.run_open r
SET state = 'waiting', available_at = CAST(:now AS timestamptz), awaits = NULL, wake_at = NULL
FROM locked l WHERE r.id = l.id
RETURNING r.id, r.task_id, r.task_name, r.job_name, r.group_name, r.flow_id
