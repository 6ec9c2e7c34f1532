-- When the next task is due, the next suspended run is woken by time, and the next pause of a task or a group ends: one
-- step along an index for each.
--
-- The conditions are those of the indexes; without them SQLite looks at every row.
--
-- Parameters: none
-- Index: ix_periodic_task_due, ix_run_wake, ix_periodic_task_resume, ix_queue_group_resume
-- Called by: due_tasks.look_ahead
SELECT (SELECT min(t.next_execution) FROM cronograph.periodic_task t WHERE t.next_execution IS NOT NULL) AS next_execution,
    (SELECT min(r.wake_at) FROM cronograph.run r WHERE r.wake_at IS NOT NULL) AS wake_at,
    (SELECT min(p.at) FROM (
        SELECT min(t.resume_at) AS at FROM cronograph.periodic_task t WHERE t.resume_at IS NOT NULL
        UNION ALL
        SELECT min(g.resume_at) FROM cronograph.queue_group g WHERE g.resume_at IS NOT NULL) p) AS resume_at
