-- Due tasks, the longest due first, that no other node is dispatching; locked until the commit.
--
-- What follows in the transaction is planned as on an autocommit connection: a plan that was made while a table was
-- empty reads it whole, and is kept until the server analyzes the table.
--
-- Parameters:
--   now: the time that counts; null: the database's own
--   limit: how many at most
-- Index: ix_periodic_task_due, ix_queue_group_cap
-- Called by: due_tasks.due
SELECT (SELECT set_config('enable_hashjoin', 'off', true) || set_config('enable_mergejoin', 'off', true)
            || set_config('enable_seqscan', 'off', true) || set_config('plan_cache_mode', 'force_generic_plan', true)
       ) AS planned,
    coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS now,
    EXISTS (SELECT FROM cronograph.job j WHERE j.name = t.job_name) AS job_known,
    (SELECT j.defaults FROM cronograph.job j
     WHERE j.name = t.job_name AND jsonb_exists_any(j.defaults, '{unique_key,limits,per_run}')) AS declared,
    EXISTS (SELECT FROM cronograph.queue_group g WHERE g.cap IS NOT NULL) AS any_cap,
    t.id, t.name, t.job_name, t.group_name, t.schedule_syntax, t.schedule_value, t.timezone, t.anchor_at, t.end_at,
    t.jitter, t.overlap, t.misfire, t.misfire_grace, t.catch_up_limit, t.timeout, t.enabled, t.paused_by,
    t.pause_reason, t.resume_at, t.next_nominal, t.last_due_at, t.rate
FROM cronograph.periodic_task t
WHERE t.next_execution <= coalesce(CAST(:now AS timestamptz), statement_timestamp())
ORDER BY t.next_execution LIMIT :limit FOR UPDATE OF t SKIP LOCKED
