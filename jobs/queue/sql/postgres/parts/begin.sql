begun AS (
    UPDATE cronograph.run_open r
    SET state = 'running', node_id = :node_id, attempt = r.attempt + 1, started_at = s.at, progress = NULL,
        available_at = coalesce(r.due_at, r.available_at), due_at = NULL,
        deadline_at = CASE WHEN r.attempt = 0 THEN s.at + make_interval(secs => r.max_duration) ELSE r.deadline_at END
    FROM chosen c, start s
    WHERE r.id = c.id AND (r.expires_at IS NULL OR r.attempt > 0 OR r.expires_at > s.at)
    RETURNING c.execution_id, r.id, r.attempt, r.job_name, r.args, r.group_name, r.task_id, r.task_name,
        r.scheduled_for, r.failures, r.retries, r.retry_delay, r.timeout, r.submitter, r.submitter_id, r.description,
        r.signature, r.carried, r.flow_id, r.labels, r.available_at, r.trigger, r.submitted_at, r.checkpoint,
        r.concurrency_key, r.rate_key, r.deadline_at),
opened AS (
    INSERT INTO cronograph.job_execution_open (id, job_name, started_at, run_id, task_id, task_name, attempt, node_id, node,
        trigger, scheduled_for, submitted_at, log_lines, log_cut)
    OVERRIDING SYSTEM VALUE
    SELECT b.execution_id, b.job_name, s.at, b.id, b.task_id, b.task_name, b.attempt, :node_id, CAST(:node AS text),
        b.trigger, b.scheduled_for, b.submitted_at, 0, 0
    FROM begun b, start s),
marked AS (
    UPDATE cronograph.periodic_task t SET last_started_at = s.at FROM begun b, start s
    WHERE t.id = b.task_id AND b.trigger = 'schedule' AND b.attempt = 1),
{event_written}
    SELECT s.at, jsonb_build_array(jsonb_build_object(
        'started', (SELECT jsonb_agg(
                        CASE WHEN flow_id IS NULL
                        THEN jsonb_build_array(id, execution_id, job_name, group_name, task_id, task_name)
                        ELSE jsonb_build_array(id, execution_id, job_name, group_name, task_id, task_name, flow_id) END
                        ORDER BY execution_id) FROM begun),
        'node', CAST(:node AS text)))
    FROM start s WHERE s.with_event AND EXISTS (SELECT FROM begun))
