-- Begins attempts of runs with concurrency keys, as far as slots of these are free, and holds the others back.
--
-- Which runs are meant and whose keys nobody else judges before the commit says `try_lock_keys`, which is sent just
-- before; this statement sees what was committed before the keys were locked. Those that come first take the slots; what
-- is not wanted now and would find no slot is held back, too. Where runs of one key say different maxima, one may be held
-- back that would have found a slot; the next end of its key lets it go. For the rest see `start` and `hold_back`.
--
-- Parameters:
--   wanted: how many of the runs may begin: those behind them are only held back
--   node_id, node: the node that executes them
--   never: when held runs become available
-- Index: pk_run, ix_run_concurrent
-- Called by: lane.claim_groups
WITH accepting AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = :node_id AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE),
found AS MATERIALIZED (
    SELECT r.id, r.concurrency_key, r.max_concurrent, r.has_place, w.place, w.place <= :wanted AS wanted
    FROM (
        SELECT id, place FROM unnest(CAST(current_setting('claim.runs', true) AS bigint[])) WITH ORDINALITY AS u(id, place)
        WHERE EXISTS (SELECT FROM accepting) ORDER BY id) w
    CROSS JOIN LATERAL (
        SELECT r.id, r.concurrency_key, r.max_concurrent, coalesce(r.keeps_place AND r.attempt > 0, false) AS has_place
        FROM cronograph.run_open r
        WHERE r.id = w.id AND r.state || '' IN ('stuck', 'waiting') AND r.due_at IS NULL
          AND NOT EXISTS (
              SELECT FROM cronograph.queue_group q WHERE q.name = r.group_name AND q.paused_at IS NOT NULL)
        FOR UPDATE SKIP LOCKED) r),
judged AS MATERIALIZED (
    SELECT f.id, f.place, f.wanted, f.concurrency_key IS NULL OR f.has_place
        OR count(*) FILTER (WHERE f.wanted) OVER (PARTITION BY f.concurrency_key, f.has_place ORDER BY f.place)
            - CASE WHEN f.wanted THEN 1 ELSE 0 END + (
            SELECT count(*) FROM cronograph.run_open b
            WHERE b.concurrency_key = f.concurrency_key AND {has_place}) < f.max_concurrent AS fits
    FROM found f),
held_back AS (
    UPDATE cronograph.run_open r SET due_at = r.available_at, available_at = CAST(:never AS timestamptz)
    FROM judged j WHERE r.id = j.id AND NOT j.fits
    RETURNING r.id),
chosen AS MATERIALIZED (
    SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id
    FROM (SELECT id FROM judged WHERE fits AND wanted ORDER BY place) l),
start AS MATERIALIZED (SELECT clock_timestamp() AS at, true AS with_event),
{begin}
SELECT (SELECT count(*) FROM held_back) AS held_back,
{begun}
FROM start s LEFT JOIN begun b ON true
