-- Wakes suspended runs whose time has come, the longest due first.
--
-- Each keeps the place in the queue of the time at which it was to be woken.
--
-- Parameters:
--   now: the time
--   limit: how many at most
-- Index: ix_run_wake
-- Called by: changes.wake_due
UPDATE cronograph.run AS r
SET state = 'waiting', available_at = r.wake_at, awaits = NULL, wake_at = NULL
WHERE r.id IN (
    SELECT d.id FROM cronograph.run d WHERE d.wake_at IS NOT NULL AND d.wake_at <= :now
    ORDER BY d.wake_at, d.id LIMIT :limit)
RETURNING id, task_id, task_name, job_name, group_name, flow_id
