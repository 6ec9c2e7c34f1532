-- Inserts new runs, one to some thousands. SQLite needs a WHERE between a SELECT and ON CONFLICT to tell it from a join's ON.
--
-- Parameters:
--   runs: a JSON array of objects with the columns of each run, JSON documents as texts, and its place
--   now: the time
-- Index: uq_run_unique_key
-- Called by: new_runs.insert
INSERT INTO cronograph.run (job_name, args, carried, flow_id, awaits, task_id, task_name, trigger, scheduled_for,
    submitted_at,
    available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature, group_name,
    priority, retries, retry_delay, timeout, concurrency_key, max_concurrent, rate_key, labels, expires_at, state,
    attempt, failures)
SELECT json_extract(value, '$.job_name'), json_extract(value, '$.args'), json_extract(value, '$.carried'),
    json_extract(value, '$.flow_id'), json_extract(value, '$.awaits'),
    json_extract(value, '$.task_id'), json_extract(value, '$.task_name'), json_extract(value, '$.trigger'),
    json_extract(value, '$.scheduled_for'), :now, coalesce(json_extract(value, '$.available_at'), :now),
    json_extract(value, '$.exclusive'), json_extract(value, '$.unique_key'), json_extract(value, '$.retried_from'),
    json_extract(value, '$.submitter'), json_extract(value, '$.submitter_id'), json_extract(value, '$.description'),
    json_extract(value, '$.signature'), json_extract(value, '$.group_name'), json_extract(value, '$.priority'),
    json_extract(value, '$.retries'), json_extract(value, '$.retry_delay'), json_extract(value, '$.timeout'),
    json_extract(value, '$.concurrency_key'), json_extract(value, '$.max_concurrent'),
    json_extract(value, '$.rate_key'), json_extract(value, '$.labels'), json_extract(value, '$.expires_at'),
    CASE WHEN json_extract(value, '$.awaits') IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0
FROM json_each(:runs) WHERE true
ORDER BY json_extract(value, '$.place')
ON CONFLICT DO NOTHING
RETURNING id
