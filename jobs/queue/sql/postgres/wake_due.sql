-- Wakes suspended runs whose time has come, the longest due first, that nobody else is changing.
--
-- Each keeps the place in the queue of the time at which it was to be woken.
--
-- Parameters:
--   now: the time
--   limit: how many at most
-- Index: ix_run_wake
-- Called by: changes.wake_due
WITH due AS MATERIALIZED (
    SELECT r.id, r.wake_at FROM cronograph.run_open r
    WHERE r.wake_at IS NOT NULL AND r.wake_at <= CAST(:now AS timestamptz)
    ORDER BY r.wake_at, r.id LIMIT :limit FOR UPDATE SKIP LOCKED)
UPDATE cronograph.run_open r
SET state = 'waiting', available_at = d.wake_at, awaits = NULL, wake_at = NULL
FROM due d WHERE r.id = d.id
RETURNING r.id, r.task_id, r.task_name, r.job_name, r.group_name, r.flow_id
