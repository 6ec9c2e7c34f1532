-- Moves tasks on.
--
-- Parameters:
--   tasks: a JSON array of objects with the fields of `Moved`
-- Index: rowid of periodic_task
-- Called by: due_tasks.move
UPDATE cronograph.periodic_task AS t
SET next_nominal = v.next_nominal, next_execution = v.next_execution,
    last_due_at = coalesce(v.last_due_at, t.last_due_at), counter = t.counter + v.made
FROM (
    SELECT json_extract(value, '$.task_id') AS task_id, json_extract(value, '$.next_nominal') AS next_nominal,
        json_extract(value, '$.next_execution') AS next_execution, json_extract(value, '$.last_due_at') AS last_due_at, json_extract(value, '$.made') AS made
    FROM json_each(:tasks)) AS v
WHERE t.id = v.task_id
