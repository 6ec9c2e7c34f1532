-- Moves tasks on.
--
-- Parameters:
--   tasks: a JSON array of objects with the fields of `Moved`, each for all tasks that follow one another and have
--     them in common, with these tasks
-- Index: rowid of periodic_task
-- Called by: due_tasks.move
UPDATE cronograph.periodic_task AS t
SET next_nominal = v.next_nominal, next_execution = v.next_execution,
    last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made
FROM (
    -- Both are kept: spread in place, SQLite would walk through all tasks for each of the first.
    WITH alike AS MATERIALIZED (
        SELECT json_extract(value, '$.next_nominal') AS next_nominal,
            json_extract(value, '$.next_execution') AS next_execution,
            json_extract(value, '$.last_due_at') AS last_due_at, json_extract(value, '$.made') AS made,
            json_extract(value, '$.task_ids') AS task_ids
        FROM json_each(:tasks)),
    moved AS MATERIALIZED (
        SELECT w.value AS task_id, a.next_nominal, a.next_execution, a.last_due_at, a.made
        FROM alike a CROSS JOIN json_each(a.task_ids) w)
    SELECT task_id, next_nominal, next_execution, last_due_at, made FROM moved) AS v
WHERE t.id = v.task_id
