-- The suspended runs that come after some that have ended, and what is known of all that each comes after.
--
-- Whether any is unfinished is looked for from the last one: runs are served first in, first out, so that one is found
-- at once until nearly all have ended. Only of those that have ended just now it is said whether they succeeded: one
-- that did not succeed before has decided then already.
--
-- Parameters:
--   ids: the runs that have ended
-- Index: ix_flow_edge_after, pk_flow_edge, pk_flow_run, pk_run
-- Called by: flow_ends.release
WITH touched AS MATERIALIZED (
    SELECT e.run_id, bool_or(a.state <> 'success') AS unsuccessful
    FROM unnest(CAST(:ids AS bigint[])) AS u(id)
    CROSS JOIN LATERAL (SELECT p.id, p.state FROM cronograph.run p WHERE p.id = u.id) a
    CROSS JOIN LATERAL (SELECT d.run_id FROM cronograph.flow_edge d WHERE d.after_id = a.id) e
    GROUP BY e.run_id),
open AS MATERIALIZED (
    SELECT t.run_id, m.flow_id, m.condition, m.uses, t.unsuccessful,
        (SELECT e.after_id FROM cronograph.flow_edge e
         WHERE e.run_id = t.run_id
           AND (SELECT p.finished_at IS NULL FROM cronograph.run p WHERE p.id = e.after_id)
         ORDER BY e.after_id DESC LIMIT 1) IS NOT NULL AS unfinished
    FROM touched t
    CROSS JOIN LATERAL (SELECT x.flow_id, x.condition, x.uses FROM cronograph.flow_run x WHERE x.run_id = t.run_id) m
    CROSS JOIN LATERAL (
        SELECT s.id FROM cronograph.run_open s WHERE s.id = t.run_id AND s.state || '' = 'suspended') s)
SELECT o.run_id, o.flow_id, o.condition, o.uses, o.unsuccessful, o.unfinished,
    CASE WHEN o.condition = 'failure' AND NOT o.unfinished THEN (
        SELECT e.after_id FROM cronograph.flow_edge e
        WHERE e.run_id = o.run_id
          AND (SELECT p.state = 'failed' FROM cronograph.run p WHERE p.id = e.after_id)
        ORDER BY e.after_id LIMIT 1) IS NOT NULL ELSE false END AS failed
FROM open o ORDER BY o.run_id
