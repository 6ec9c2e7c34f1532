-- Keeps others from judging the concurrency keys of some runs until the commit, and leaves these runs to `start_keyed`.
--
-- Nobody waits here for a key: who gets no lock leaves the runs of that key alone, all of them. A key is locked by a
-- number that follows from its text, once for each of its runs. The node's row comes before the keys, as everywhere.
-- Runs are left in a setting of the transaction, since the next statement is sent before this one is answered: an array
-- with null in the place of each run that is left alone.
--
-- Parameters:
--   ids: the runs, in the order in which they are judged
--   node_id: the node that takes them
-- Index: pk_run
-- Called by: lane.claim_groups
WITH accepting AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = :node_id AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE),
asked AS MATERIALIZED (
    SELECT u.place, r.id, r.concurrency_key,
        r.concurrency_key IS NULL
        OR pg_try_advisory_xact_lock(hashtextextended('cronograph slots ' || r.concurrency_key, 0)) AS ours
    FROM (SELECT id, place FROM unnest(CAST(:ids AS bigint[])) WITH ORDINALITY AS u(id, place)
          WHERE EXISTS (SELECT FROM accepting)) u
    CROSS JOIN LATERAL (SELECT * FROM cronograph.run_open r WHERE r.id = u.id AND r.rate_key IS NULL OFFSET 0) r),
judged AS (
    SELECT a.place, CASE WHEN bool_and(a.ours) OVER (PARTITION BY a.concurrency_key) THEN a.id END AS id FROM asked a)
SELECT set_config('claim.runs', coalesce(CAST(array_agg(j.id ORDER BY j.place) AS text), '{}'), true) AS runs FROM judged j
