-- For each of some tasks that has any: how many unfinished runs, and the oldest of them.
--
-- Of each task by itself: grouped together, PostgreSQL would walk through all unfinished runs to have them in order.
--
-- Parameters:
--   ids: the tasks
-- Index: ix_run_unfinished
-- Called by: due_tasks.unfinished_counts
SELECT w.task_id, c.runs, c.oldest
FROM unnest(CAST(:ids AS bigint[])) AS w(task_id) CROSS JOIN LATERAL (
    SELECT count(*) AS runs, min(r.id) AS oldest FROM cronograph.run r
    WHERE r.task_id = w.task_id AND r.finished_at IS NULL) c
WHERE c.runs > 0
