-- Lets go the first runs that wait for a slot of a concurrency key, as many as there are free slots.
--
-- Each run has its own maximum: it waits for its key to have fewer than that. One whose maximum is reached keeps none
-- behind it waiting, among the first ones; one that is let go and finds its own maximum reached after all is held back
-- again.
--
-- The order among them is that of a lane: stuck ones, then those of high priority, first in, first out. Their place in
-- the queue is the one that they had.
--
-- Parameters:
--   key: the key
--   at_most: how many runs at most
-- Index: ix_run_held_concurrency, ix_run_concurrent
-- Called by: admission.let_go_by_slots
UPDATE cronograph.run AS r SET available_at = r.due_at, due_at = NULL
WHERE r.id IN (
    SELECT f.id
    FROM (SELECT count(*) AS runs FROM cronograph.run b WHERE b.concurrency_key = :key AND {has_place}) busy
    CROSS JOIN (
        SELECT h.id, h.max_concurrent FROM cronograph.run h
        WHERE h.concurrency_key = :key AND {held_for_place}
        ORDER BY h.state, h.priority, h.due_at, h.id LIMIT :at_most) f
    WHERE f.max_concurrent > busy.runs
    LIMIT max(0, coalesce((
        SELECT max(w.max_concurrent) FROM (
            SELECT h.max_concurrent FROM cronograph.run h
            WHERE h.concurrency_key = :key AND {held_for_place}
            ORDER BY h.state, h.priority, h.due_at, h.id LIMIT 20) w), 0) - (
        SELECT count(*) FROM cronograph.run b
        WHERE b.concurrency_key = :key AND {has_place})))
RETURNING id
