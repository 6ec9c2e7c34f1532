-- Inserts a run that the API was asked for, with its event and the entry of the audit log.
--
-- As `insert_runs` for one run, if its job is still published with the signature of the run, against which its arguments
-- were checked, says of each run what the caller knew, and says nothing of keys that follow from these, and its group has
-- no cap. Apart from it, because who only enqueues need have no rights to the audit log.
-- The entry continues the chain as `audit.append` does; where there is none yet that it could follow, nothing is inserted.
--
-- Parameters:
--   run: a JSON object with the columns of the run; a policy that is null is as its job says, unless own_timeout
--     (own_max_duration) is true
--   args, labels: its arguments and its labels
--   entry: a JSON object with the entry of the audit log
-- Index: pk_job, pk_audit_head, ix_queue_group_cap
-- Called by: new_runs.insert_requested
WITH settled AS MATERIALIZED (
    SELECT k.job_name, k.trigger, k.available_at, k.exclusive, k.submitter, k.submitter_id, k.description, k.signature,
        coalesce(k.group_name, j.defaults->>'group', 'default') AS group_name,
        coalesce(k.priority, j.defaults->>'priority', 'low') AS priority,
        coalesce(k.retries, CAST(j.defaults->>'retries' AS int), 2) AS retries,
        coalesce(k.retry_delay, CAST(j.defaults->>'retry_delay' AS float8), 60) AS retry_delay,
        CASE WHEN k.own_timeout THEN k.timeout ELSE coalesce(k.timeout, CAST(j.defaults->>'timeout' AS float8)) END
            AS timeout, k.expires_at, k.ttl,
        CASE WHEN k.own_max_duration THEN k.max_duration
            ELSE coalesce(k.max_duration, CAST(j.defaults->>'max_duration' AS float8)) END AS max_duration
    FROM json_to_record(CAST(:run AS json)) AS k(
            job_name text, trigger text, available_at timestamptz, exclusive boolean, submitter text,
            submitter_id bigint, description text, signature text, group_name text, priority text, retries int,
            retry_delay float8, timeout float8, expires_at timestamptz, ttl float8, own_timeout boolean,
            per_run jsonb, max_duration float8, own_max_duration boolean)
        JOIN cronograph.job j ON j.name = k.job_name AND j.signature = k.signature
    WHERE EXISTS (SELECT FROM cronograph.audit_head) AND j.defaults->'unique_key'->'arguments' IS NULL
      AND j.defaults->'limits' IS NULL AND j.defaults->'per_run' IS NOT DISTINCT FROM k.per_run
      AND NOT EXISTS (
          SELECT FROM cronograph.queue_group g
          WHERE g.cap IS NOT NULL AND g.name = coalesce(k.group_name, j.defaults->>'group', 'default'))),
inserted AS (
    INSERT INTO cronograph.run (job_name, args, trigger, submitted_at, available_at, exclusive, submitter, submitter_id,
        description, signature, group_name, priority, retries, retry_delay, timeout, labels, expires_at, state, attempt, failures,
        max_duration)
    SELECT s.job_name, CAST(:args AS jsonb), s.trigger, statement_timestamp(),
        coalesce(s.available_at, statement_timestamp()), s.exclusive, s.submitter, s.submitter_id, s.description,
        s.signature, s.group_name, s.priority, s.retries, s.retry_delay, s.timeout,
        CAST(nullif(CAST(:labels AS text), 'null') AS jsonb),
        CASE WHEN s.ttl IS NULL THEN s.expires_at ELSE coalesce(s.available_at, statement_timestamp()) + make_interval(secs => s.ttl) END, 'waiting', 0, 0,
        s.max_duration
    FROM settled s
    RETURNING id, submitted_at, job_name, group_name, priority, retries, retry_delay, timeout, labels, max_duration),
labelled AS (
    INSERT INTO cronograph.run_label (key, value, run_id)
    SELECT e.key, e.value, i.id FROM inserted i CROSS JOIN LATERAL jsonb_each_text(i.labels) e
    WHERE i.labels IS NOT NULL),
{event_written}
    SELECT submitted_at, jsonb_build_array(jsonb_build_object('created', jsonb_build_array(
        jsonb_build_array(id, job_name, group_name))))
    FROM inserted),
entry AS (
    SELECT e.*, i.submitted_at FROM inserted i, json_to_record(CAST(:entry AS json)) AS e(
        head text, middle text, tail text, actor text, actor_id bigint, address text, action text, subject text,
        before text, after text)),
advanced AS (
    UPDATE cronograph.audit_head h
    SET last_id = h.last_id + 1, last_hash = encode(sha256(convert_to(
        h.last_hash || chr(10) || e.head || to_char(e.submitted_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        || e.middle || (h.last_id + 1) || e.tail, 'UTF8')), 'hex')
    FROM entry e WHERE h.id = 1 RETURNING h.last_id, h.last_hash),
audited AS (
    INSERT INTO cronograph.audit_log (id, hash, at, actor, actor_id, address, action, subject, before, after)
    SELECT a.last_id, a.last_hash, e.submitted_at, e.actor, e.actor_id, e.address, e.action, e.subject, e.before,
        e.after
    FROM advanced a, entry e
    RETURNING id)
SELECT i.id, i.submitted_at, i.group_name AS "group", i.priority, i.retries, i.retry_delay, i.timeout,
    i.max_duration
FROM inserted i, audited
