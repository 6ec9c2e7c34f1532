-- Wakes those of these runs that are suspended: they wait again, with the place in the queue of this time.
--
-- Parameters:
--   ids: the runs, a JSON array
--   now: the time
-- Index: rowid of run
-- Called by: changes.wake
UPDATE cronograph.run AS r
SET state = 'waiting', available_at = :now, awaits = NULL, wake_at = NULL
WHERE r.id IN (SELECT value FROM json_each(:ids)) AND r.state || '' = 'suspended'
RETURNING id, task_id, task_name, job_name, group_name, flow_id
