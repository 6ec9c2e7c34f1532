-- Inserts new runs, one to some thousands, with their event, the notification of the nodes, and an entry of the audit log.
--
-- What several runs have in common travels once, as their kind. Of what each has by itself there is a list, or, where
-- all have the same value, that value and no list: the shorter lists are filled up with nulls. JSON objects travel as one
-- JSON array, which costs the driver a tenth of what a list of texts does, and PostgreSQL no new plan for another number
-- of runs. What a run takes from its job is found out once for each kind. What follows from the arguments is no matter of
-- this statement: if a run lacks its keys or its labels, or its job is not as the caller knew it, nothing is inserted.
--
-- In the form `audited`, with an entry of the audit log (`audit.linking` has its parameters), nothing is inserted either where there is none yet
-- that it could follow. A client that only enqueues sends the plain form, and needs no rights to the log.
--
-- Parameters:
--   kinds: a JSON array of objects with the columns of each kind; a policy that is null is as its job says, unless
--     own_timeout (own_max_duration) is true; own_key, own_limits: whether a unique key, or the keys of its limits, that are null mean that
--     the run has none; settled: whether its labels are all that it has; per_run: else what the caller knew that its job
--     says of them; published: the signature that the job must have, null: any
--   kind: a JSON array, of each run the number of its kind
--   args, carried, labels: of each run its arguments, what it carries, and its labels; null: all have the same
--   each_args, each_carried, each_labels: what all have
--   now: the time; null: the database's own
--   with_event, wakes: whether to write their event here and notify the nodes, and of what; then nobody has judged them
--     by the caps of their groups: if one has a cap, nothing is inserted
-- Index: pk_job, uq_run_unique_key, ix_queue_group_cap
-- Called by: new_runs.insert_by
WITH decided AS MATERIALIZED (
    SELECT k.kind, k.job_name, k.task_id, k.task_name, k.trigger, k.scheduled_for, k.exclusive,
        k.unique_key, k.concurrency_key, k.max_concurrent, k.rate_key, k.cap_key, k.keeps_place, k.retried_from, k.submitter, k.submitter_id,
        k.description, k.signature, k.flow_id, k.awaits, k.expires_at, k.ttl,
        coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at,
        coalesce(k.available_at, CAST(:now AS timestamptz), statement_timestamp()) AS available_at,
        coalesce(k.group_name, j.defaults->>'group', 'default') AS group_name,
        coalesce(k.priority, j.defaults->>'priority', 'low') AS priority,
        coalesce(k.retries, CAST(j.defaults->>'retries' AS int), 2) AS retries,
        coalesce(k.retry_delay, CAST(j.defaults->>'retry_delay' AS float8), 60) AS retry_delay,
        CASE WHEN k.own_timeout THEN k.timeout ELSE coalesce(k.timeout, CAST(j.defaults->>'timeout' AS float8)) END
            AS timeout,
        CASE WHEN k.own_max_duration THEN k.max_duration
            ELSE coalesce(k.max_duration, CAST(j.defaults->>'max_duration' AS float8)) END AS max_duration,
        NOT k.own_key AND j.defaults->'unique_key'->'arguments' IS NOT NULL
        OR NOT k.own_limits AND j.defaults->'limits' IS NOT NULL
        OR NOT k.settled AND j.defaults->'per_run' IS DISTINCT FROM k.per_run
        OR k.published IS DISTINCT FROM j.signature AND k.published IS NOT NULL
        OR CAST(:with_event AS boolean) AND EXISTS (
            SELECT FROM cronograph.queue_group g
            WHERE g.cap IS NOT NULL AND g.name = coalesce(k.group_name, j.defaults->>'group', 'default')) AS lacking
    FROM json_to_recordset(CAST(:kinds AS json)) AS k(
            kind int, job_name text, task_id bigint, task_name text, trigger text, scheduled_for timestamptz,
            available_at timestamptz, exclusive boolean, unique_key text, retried_from bigint, submitter text,
            submitter_id bigint, description text, signature text, group_name text, priority text, retries int,
            retry_delay float8, timeout float8, concurrency_key text, max_concurrent int, rate_key text, cap_key text, keeps_place boolean, flow_id bigint,
            awaits text, expires_at timestamptz, ttl float8, own_timeout boolean, own_key boolean, own_limits boolean, settled boolean,
            max_duration float8, own_max_duration boolean, per_run jsonb, published text)
        LEFT JOIN cronograph.job j ON j.name = k.job_name),
inserted AS (
    INSERT INTO cronograph.run (job_name, args, carried, flow_id, awaits, task_id, task_name, trigger,
        scheduled_for, submitted_at,
        available_at, exclusive, unique_key, retried_from, submitter, submitter_id, description, signature, group_name,
        priority, retries, retry_delay, timeout, concurrency_key, max_concurrent, rate_key, cap_key, keeps_place, labels, expires_at, state,
        attempt, failures, max_duration)
    SELECT d.job_name, CAST(coalesce(CAST(l.args AS text), :each_args) AS jsonb),
        CAST(nullif(coalesce(CAST(l.carried AS text), :each_carried), 'null') AS jsonb), d.flow_id,
        CAST(d.awaits AS jsonb), d.task_id, d.task_name, d.trigger, d.scheduled_for, d.at,
        d.available_at, d.exclusive, d.unique_key, d.retried_from, d.submitter, d.submitter_id, d.description, d.signature, d.group_name,
        d.priority, d.retries, d.retry_delay, d.timeout, d.concurrency_key, d.max_concurrent, d.rate_key, d.cap_key, d.keeps_place,
        CAST(nullif(coalesce(CAST(l.labels AS text), :each_labels), 'null') AS jsonb),
        CASE WHEN d.ttl IS NULL THEN d.expires_at ELSE d.available_at + make_interval(secs => d.ttl) END,
        CASE WHEN d.awaits IS NULL THEN 'waiting' ELSE 'suspended' END, 0, 0, d.max_duration
    FROM ROWS FROM (
            json_array_elements_text(CAST(:kind AS json)), json_array_elements(CAST(:args AS json)),
            json_array_elements(CAST(:carried AS json)), json_array_elements(CAST(:labels AS json)))
            WITH ORDINALITY AS l(kind, args, carried, labels, place)
        JOIN decided d ON d.kind = CAST(l.kind AS int)
    WHERE NOT EXISTS (SELECT FROM decided WHERE lacking)
    --if audited
    {audit_begun}
    --end
    ORDER BY l.place
    ON CONFLICT DO NOTHING
    RETURNING id, job_name, group_name, labels),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL ORDER BY e.key, e.value, i.id),
--if audited
{audited}
--end
{event_written}
    SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()),
        jsonb_build_array(jsonb_build_object('created', jsonb_agg(alike.created)))
    FROM (SELECT jsonb_build_array(CASE WHEN count(*) = 1 THEN to_jsonb(min(id)) ELSE to_jsonb(array_agg(id ORDER BY id)) END,
              job_name, group_name) AS created
          FROM inserted GROUP BY job_name, group_name ORDER BY min(id)) AS alike
    HAVING CAST(:with_event AS boolean) AND count(*) > 0)
SELECT array_agg(id) AS ids, coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS submitted_at,
    CAST((SELECT json_agg(json_build_array(d.group_name, d.priority, d.retries, d.retry_delay, d.timeout, d.max_duration)
        ORDER BY d.kind) FROM decided d) AS text) AS decided,
    CASE WHEN CAST(:with_event AS boolean) AND count(*) > 0
        THEN pg_notify('cronograph', CAST(:wakes AS text)) END AS notified
FROM inserted
