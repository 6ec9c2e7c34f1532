    b.execution_id, b.id, b.attempt, b.job_name, b.args, b.group_name, b.task_id, b.task_name, b.scheduled_for,
    b.failures, b.retries, b.retry_delay, b.timeout, b.submitter, b.submitter_id, b.description, b.signature, b.carried,
    b.flow_id, b.labels, b.available_at, b.trigger, b.deadline_at, b.concurrency_key, b.rate_key, s.at AS started_at,
    coalesce((SELECT t.checkpoint FROM cronograph.periodic_task t WHERE t.id = b.task_id), b.checkpoint) AS checkpoint
