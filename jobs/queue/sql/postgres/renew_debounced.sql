-- Gives the run that waits with a debounced key other arguments and another time, with its event and the notification.
--
-- Nothing is changed where no run waits with the key, where that is another job's, belongs to a flow or has other labels,
-- and where the job says something of each run that the caller does not know: then it takes a transaction.
--
-- Parameters:
--   run: a JSON object with the columns of the new enqueue; own_limits, settled: see `insert_runs`
--   args, carried, labels: its arguments, what it carries, and its labels
--   delay: the seconds without a further enqueue after which the run is due
--   max_wait: it is due at the latest so many seconds after the first enqueue; null: whenever
--   wakes: of what to notify the nodes
-- Index: pk_job, uq_run_unique_key
-- Called by: uniqueness.renew_by
WITH asked AS MATERIALIZED (
    SELECT k.*, statement_timestamp() AS at
    FROM json_to_record(CAST(:run AS json)) AS k(
            job_name text, unique_key text, submitter text, submitter_id bigint, signature text, concurrency_key text,
            max_concurrent int, rate_key text, keeps_place boolean, expires_at timestamptz, ttl float8, own_limits boolean, settled boolean)
        LEFT JOIN cronograph.job j ON j.name = k.job_name
    WHERE (k.own_limits OR j.defaults->'limits' IS NULL) AND (k.settled OR j.defaults->'per_run' IS NULL)),
renewed AS (
    UPDATE cronograph.run r
    SET args = CAST(:args AS jsonb), carried = CAST(nullif(CAST(:carried AS text), 'null') AS jsonb),
        signature = a.signature, submitter = a.submitter, submitter_id = a.submitter_id,
        concurrency_key = a.concurrency_key, max_concurrent = a.max_concurrent, rate_key = a.rate_key,
        keeps_place = a.keeps_place,
        state = 'waiting', node_id = NULL, due_at = NULL,
        available_at = least(a.at + make_interval(secs => CAST(:delay AS float8)),
            r.submitted_at + make_interval(secs => CAST(:max_wait AS float8))),
        expires_at = CASE WHEN a.ttl IS NULL THEN a.expires_at
            ELSE least(a.at + make_interval(secs => CAST(:delay AS float8)),
                r.submitted_at + make_interval(secs => CAST(:max_wait AS float8))) + make_interval(secs => a.ttl) END
    FROM asked a
    WHERE r.unique_key = a.unique_key AND r.state IN ('waiting', 'running', 'stuck', 'scheduled', 'suspended')
        AND (r.key_until_start IS NULL OR r.attempt = 0) AND r.attempt = 0
        AND r.state || '' IN ('waiting', 'scheduled') AND r.job_name = a.job_name AND r.flow_id IS NULL
        AND r.labels IS NOT DISTINCT FROM CAST(nullif(CAST(:labels AS text), 'null') AS jsonb)
    RETURNING r.*),
{event_written}
    SELECT a.at, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('kind', 'run_updated', 'task_id', r.task_id,
        'task_name', r.task_name, 'run_id', r.id, 'job_name', r.job_name, 'group', r.group_name, 'state', r.state)))
    FROM renewed r CROSS JOIN asked a)
SELECT r.id, r.group_name AS "group", r.priority, r.retries, r.retry_delay, r.timeout, r.submitted_at, r.available_at,
    r.expires_at, r.task_id, r.task_name, r.trigger, r.description,
    pg_notify('cronograph', CAST(:wakes AS text)) AS notified
FROM renewed r
