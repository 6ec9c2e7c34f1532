-- Lets go the first runs that wait for a slot of each of some concurrency keys, as many as there are free slots.
--
-- Each run has its own maximum: it waits for its key to have fewer than that. One whose maximum is reached keeps none
-- behind it waiting, among the first ones; one that is let go and finds its own
-- maximum reached after all is held back again.
--
-- The order among them is that of a lane: stuck ones, then those of high priority, first in, first out. Their place in
-- the queue is the one that they had. What others have locked is passed over, and what has a place already: that waits
-- for a token. Each is locked by its id: a condition of what is locked is none of an index, and the planner would take
-- one that has all runs that wait.
--
-- Parameters:
--   keys: the keys
--   at_most: how many runs of a key at most
-- Index: ix_run_held_concurrency, ix_run_concurrent
-- Called by: admission.let_go_by_slots
UPDATE cronograph.run_open r SET available_at = r.due_at, due_at = NULL
FROM (
    SELECT n.id
    FROM unnest(CAST(:keys AS text[])) AS k(key)
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs FROM cronograph.run_open b
        WHERE b.concurrency_key = k.key AND {has_place}) busy
    CROSS JOIN LATERAL (
        SELECT r.id
        FROM (
            SELECT h.id, h.max_concurrent FROM cronograph.run_open h
            WHERE h.concurrency_key = k.key AND {held_for_place}
            ORDER BY h.concurrency_key, h.state, h.priority, h.due_at, h.id
            LIMIT :at_most) w
        CROSS JOIN LATERAL (
            SELECT r.id FROM cronograph.run_open r
            WHERE r.id = w.id AND r.due_at IS NOT NULL AND r.state || '' IN ('stuck', 'waiting')
            FOR UPDATE SKIP LOCKED) r
        WHERE w.max_concurrent > busy.runs
        LIMIT (
            SELECT CASE WHEN h.max_concurrent > busy.runs THEN h.max_concurrent - busy.runs ELSE (
                SELECT greatest(0, max(f.max_concurrent) - busy.runs) FROM (
                    SELECT h.max_concurrent FROM cronograph.run_open h
                    WHERE h.concurrency_key = k.key AND {held_for_place}
                    ORDER BY h.concurrency_key, h.state, h.priority, h.due_at, h.id LIMIT 20) f) END
            FROM cronograph.run_open h
            WHERE h.concurrency_key = k.key AND {held_for_place}
            ORDER BY h.concurrency_key, h.state, h.priority, h.due_at, h.id LIMIT 1)) n
    OFFSET 0) first
WHERE r.id = first.id
RETURNING r.id
