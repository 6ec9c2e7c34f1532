-- Due tasks, the longest due first.
--
-- Parameters:
--   now: the time that counts
--   limit: how many at most
-- Index: ix_periodic_task_due, ix_queue_group_cap
-- Called by: due_tasks.due
SELECT :now AS now, EXISTS (SELECT 1 FROM cronograph.job j WHERE j.name = t.job_name) AS job_known,
    (SELECT j.defaults FROM cronograph.job j
     WHERE j.name = t.job_name AND (j.defaults->'unique_key' IS NOT NULL OR j.defaults->'limits' IS NOT NULL
        OR j.defaults->'per_run' IS NOT NULL)) AS declared,
    EXISTS (SELECT 1 FROM cronograph.queue_group g WHERE g.cap IS NOT NULL) AS any_cap,
    t.id, t.name, t.job_name, t.group_name, t.schedule_syntax, t.schedule_value, t.timezone, t.anchor_at, t.end_at,
    t.jitter, t.overlap, t.misfire, t.misfire_grace, t.catch_up_limit, t.timeout, t.enabled, t.paused_by,
    t.pause_reason, t.resume_at, t.next_nominal, t.last_due_at, t.rate
FROM cronograph.periodic_task t WHERE t.next_execution <= :now ORDER BY t.next_execution LIMIT :limit
