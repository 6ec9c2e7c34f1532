-- When the next task is due, and when the next suspended run is woken by time: one step along an index for each.
--
-- The conditions are those of the indexes; without them SQLite looks at every row.
--
-- Parameters: none
-- Index: ix_periodic_task_due, ix_run_wake
-- Called by: due_tasks.look_ahead
SELECT (SELECT min(t.next_execution) FROM cronograph.periodic_task t WHERE t.next_execution IS NOT NULL) AS next_execution,
    (SELECT min(r.wake_at) FROM cronograph.run_open r WHERE r.wake_at IS NOT NULL) AS wake_at
