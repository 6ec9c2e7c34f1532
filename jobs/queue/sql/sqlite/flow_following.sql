-- The suspended runs that come after some that have ended, and what is known of all that each comes after.
--
-- Whether any is unfinished is looked for from the last one: runs are served first in, first out, so that one is found
-- at once until nearly all have ended. Only of those that have ended just now it is said whether they succeeded: one
-- that did not succeed before has decided then already. Within EXISTS SQLite would leave out the order.
--
-- Parameters:
--   ids: the runs that have ended, a JSON array
-- Index: ix_flow_edge_after, sqlite_autoindex_flow_edge_1, rowid of flow_run, rowid of run
-- Called by: flow_ends.release
WITH touched AS MATERIALIZED (
    SELECT e.run_id, max(a.state <> 'success') AS unsuccessful
    FROM json_each(:ids) u CROSS JOIN cronograph.run a ON a.id = u.value
    CROSS JOIN cronograph.flow_edge e ON e.after_id = a.id
    GROUP BY e.run_id),
open AS MATERIALIZED (
    SELECT t.run_id, m.flow_id, m.condition, m.uses, t.unsuccessful,
        (SELECT e.after_id FROM cronograph.flow_edge e
         WHERE e.run_id = t.run_id
           AND (SELECT p.finished_at IS NULL FROM cronograph.run p WHERE p.id = e.after_id)
         ORDER BY e.after_id DESC LIMIT 1) IS NOT NULL AS unfinished
    FROM touched t CROSS JOIN cronograph.flow_run m ON m.run_id = t.run_id
    CROSS JOIN cronograph.run s ON s.id = t.run_id
    WHERE s.state || '' = 'suspended')
SELECT o.run_id, o.flow_id, o.condition, o.uses, o.unsuccessful, o.unfinished,
    CASE WHEN o.condition = 'failure' AND NOT o.unfinished THEN EXISTS (
        SELECT 1 FROM cronograph.flow_edge e
        WHERE e.run_id = o.run_id
          AND (SELECT p.state = 'failed' FROM cronograph.run p WHERE p.id = e.after_id)) ELSE 0 END AS failed
FROM open o ORDER BY o.run_id
