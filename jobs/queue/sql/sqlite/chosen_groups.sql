-- The groups that a node is restricted to and whether they have a limit, less those that are paused.
--
-- Parameters:
--   groups: a JSON array, in the order of their turns
--   now: the time; groups that wait for a token are left out
-- Index: sqlite_autoindex_queue_group_1
-- Called by: candidates.candidates
SELECT g.value AS name, q.max_running IS NOT NULL OR q.rate IS NOT NULL OR q.max_wait_low IS NOT NULL AS limited
FROM json_each(:groups) g LEFT JOIN cronograph.queue_group q ON q.name = g.value
WHERE q.paused_at IS NULL AND (q.next_token_at IS NULL OR q.next_token_at <= :now) ORDER BY g.key
