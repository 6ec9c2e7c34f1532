-- Stores the ends of steps, each unless that was done. SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
--
-- Parameters:
--   steps: a JSON array of objects with the columns of each step, its value as text
-- Index: sqlite_autoindex_run_step_1
-- Called by: steps.rows_to_store
INSERT INTO cronograph.run_step (run_id, step, failure, kind, state, attempt, started_at, finished_at, value, error, used, cleanup)
SELECT json_extract(value, '$.run_id'), json_extract(value, '$.step'), json_extract(value, '$.failure'), 'function',
    CASE WHEN json_extract(value, '$.error') IS NULL THEN 'done' ELSE 'failed' END, json_extract(value, '$.attempt'), json_extract(value, '$.started_at'), json_extract(value, '$.finished_at'),
    json_extract(value, '$.value'), json_extract(value, '$.error'), 1, json_extract(value, '$.cleanup')
FROM json_each(:steps) WHERE true
ON CONFLICT DO NOTHING
