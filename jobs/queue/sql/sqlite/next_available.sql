-- When the next run becomes available by time alone, or a group gets the token that it waits for; null: never.
--
-- Parameters:
--   now: the time
-- Index: ix_run_available
-- Called by: candidates.next_available
SELECT coalesce(min(n.run, n.token), n.run, n.token) AS available_at FROM (
    SELECT (SELECT r.available_at FROM cronograph.run r
            WHERE r.state IN ('stuck', 'waiting') AND r.attempt >= 0 AND r.due_at IS NULL
              AND coalesce(r.due_at, r.available_at) > :now
            ORDER BY coalesce(r.due_at, r.available_at) LIMIT 1) AS run,
        (SELECT min(q.next_token_at) FROM cronograph.queue_group q WHERE q.next_token_at > :now) AS token) n
