-- For each of some tasks that has any: how many unfinished runs, and the oldest of them.
--
-- Parameters:
--   ids: the tasks, a JSON array
-- Index: ix_run_unfinished
-- Called by: due_tasks.unfinished_counts
SELECT r.task_id, count(*) AS runs, min(r.id) AS oldest
FROM (SELECT value AS task_id FROM json_each(:ids)) AS w CROSS JOIN cronograph.run r
WHERE r.task_id = w.task_id AND r.finished_at IS NULL GROUP BY r.task_id
