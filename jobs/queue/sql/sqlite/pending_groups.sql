-- Groups with something pending and whether they have a limit, in round-robin order: one step along the index each.
--
-- Parameters:
--   after: the group that was served last
--   from_name, from_lap: the group after which this page begins, and whether the walk has wrapped
--   depth: how many groups at most
--   now: the time; groups that wait for a token are left out
-- Index: ix_run_claimable
-- Called by: candidates.candidates
WITH RECURSIVE pending(name, lap, place) AS (
    SELECT :from_name, :from_lap, 0
    UNION ALL
    SELECT coalesce((
            SELECT min(r.group_name) FROM cronograph.run r
            WHERE r.state IN ('stuck', 'waiting') AND r.group_name > p.name), CASE WHEN p.lap = 0 AND p.name <> '' THEN (
            SELECT min(r.group_name) FROM cronograph.run r
            WHERE r.state IN ('stuck', 'waiting') AND r.group_name > '') END),
        CASE WHEN (
            SELECT min(r.group_name) FROM cronograph.run r
            WHERE r.state IN ('stuck', 'waiting') AND r.group_name > p.name) IS NULL THEN 1 ELSE p.lap END,
        p.place + 1
    FROM pending p WHERE p.name IS NOT NULL AND (p.lap = 0 OR p.name < :after))
SELECT p.name, p.lap, q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL AS limited
FROM pending p LEFT JOIN cronograph.queue_group q ON q.name = p.name
WHERE p.place > 0 AND p.name IS NOT NULL AND (p.lap = 0 OR p.name <= :after) AND q.paused_at IS NULL
  AND (q.next_token_at IS NULL OR q.next_token_at <= :now)
LIMIT :depth
