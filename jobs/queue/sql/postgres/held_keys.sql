-- Concurrency keys that runs wait for: one step along the index each.
--
-- Parameters:
--   after: the key after which to begin
--   at_most: how many keys
-- Index: ix_run_held_concurrency
-- Called by: admission.held_keys
WITH RECURSIVE held(key, place) AS (
    SELECT CAST(:after AS text) COLLATE "C", 0
    UNION ALL
    SELECT (SELECT r.concurrency_key FROM cronograph.run_open r
            WHERE r.concurrency_key > h.key AND r.due_at IS NOT NULL AND r.state IN ('stuck', 'waiting')
            ORDER BY r.concurrency_key LIMIT 1), h.place + 1
    FROM held h WHERE h.key IS NOT NULL AND h.place < :at_most)
SELECT key FROM held WHERE place > 0 AND key IS NOT NULL
