-- Inserts new runs, one to some thousands.
--
-- What several runs have in common travels once, as their kind, and is taken apart once. The word INSERT comes first:
-- by it the driver knows that a transaction begins, if the connection is a user's own.
--
-- Parameters:
--   kinds: a JSON array of objects with the columns of each kind
--   runs: a JSON array; of each run the place of its kind, and the text of its arguments, of what it carries (or null),
--     and of its labels (or null)
--   now: the time
-- Index: uq_run_unique_key
-- Called by: new_runs.insert
INSERT INTO cronograph.run (job_name, args, carried, labels, flow_id, awaits, task_id, task_name, trigger,
    scheduled_for, submitted_at, available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature,
    group_name, priority, retries, retry_delay, timeout, concurrency_key, max_concurrent, rate_key, cap_key, keeps_place, expires_at, state,
    attempt, failures, max_duration)
WITH kinds AS MATERIALIZED (
    SELECT key AS kind,
        json_extract(value, '$.job_name') AS job_name, json_extract(value, '$.flow_id') AS flow_id,
        json_extract(value, '$.awaits') AS awaits, json_extract(value, '$.task_id') AS task_id,
        json_extract(value, '$.task_name') AS task_name, json_extract(value, '$.trigger') AS trigger,
        json_extract(value, '$.scheduled_for') AS scheduled_for,
        json_extract(value, '$.available_at') AS available_at, json_extract(value, '$.exclusive') AS exclusive,
        json_extract(value, '$.unique_key') AS unique_key, json_extract(value, '$.retried_from') AS retried_from,
        json_extract(value, '$.submitter') AS submitter, json_extract(value, '$.submitter_id') AS submitter_id,
        json_extract(value, '$.description') AS description, json_extract(value, '$.signature') AS signature,
        json_extract(value, '$.group_name') AS group_name, json_extract(value, '$.priority') AS priority,
        json_extract(value, '$.retries') AS retries, json_extract(value, '$.retry_delay') AS retry_delay,
        json_extract(value, '$.timeout') AS timeout, json_extract(value, '$.concurrency_key') AS concurrency_key,
        json_extract(value, '$.max_concurrent') AS max_concurrent, json_extract(value, '$.rate_key') AS rate_key,
        json_extract(value, '$.cap_key') AS cap_key, json_extract(value, '$.keeps_place') AS keeps_place,
        json_extract(value, '$.expires_at') AS expires_at, json_extract(value, '$.max_duration') AS max_duration
    FROM json_each(:kinds))
SELECT k.job_name, json_extract(n.value, '$[1]'), json_extract(n.value, '$[2]'), json_extract(n.value, '$[3]'),
    k.flow_id, k.awaits, k.task_id, k.task_name, k.trigger, k.scheduled_for, :now, coalesce(k.available_at, :now), k.exclusive,
    k.unique_key, k.retried_from, k.submitter, k.submitter_id, k.description, k.signature, k.group_name, k.priority,
    k.retries, k.retry_delay, k.timeout, k.concurrency_key, k.max_concurrent, k.rate_key, k.cap_key, k.keeps_place, k.expires_at,
    CASE WHEN k.awaits IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0, k.max_duration
FROM json_each(:runs) n CROSS JOIN kinds k
WHERE k.kind = json_extract(n.value, '$[0]')
ORDER BY n.key
ON CONFLICT DO NOTHING
RETURNING id
