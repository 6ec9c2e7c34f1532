-- When the next run becomes available by time alone, or a group gets the token that it waits for; null: never.
--
-- No time brings what waits for a slot or a token of its key.
--
-- Parameters:
--   now: the time; null: that of the statement
-- Index: ix_run_available
-- Called by: candidates.next_available
WITH moment AS MATERIALIZED (SELECT coalesce(CAST(:now AS timestamptz), statement_timestamp()) AS at)
SELECT least(
        (SELECT r.available_at FROM cronograph.run_open r
         WHERE r.state IN ('stuck', 'waiting') AND r.attempt >= 0 AND r.due_at IS NULL
           AND coalesce(r.due_at, r.available_at) > m.at
         ORDER BY coalesce(r.due_at, r.available_at) LIMIT 1),
        (SELECT min(q.next_token_at) FROM cronograph.queue_group q WHERE q.next_token_at > m.at)) AS available_at,
    m.at AS now
FROM moment m
