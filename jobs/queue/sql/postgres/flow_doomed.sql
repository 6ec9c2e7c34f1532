-- The suspended runs that can never start since some runs did not succeed: after these, and after each other.
--
-- Parameters:
--   ids: the runs that did not succeed
-- Index: ix_flow_edge_after, pk_flow_run, pk_run
-- Called by: flow_ends._doomed
WITH RECURSIVE doomed(run_id, cause_id) AS (
    SELECT e.run_id, e.after_id
    FROM unnest(CAST(:ids AS bigint[])) AS u(id)
    CROSS JOIN cronograph.flow_edge e CROSS JOIN cronograph.flow_run m CROSS JOIN cronograph.run_open s
    WHERE e.after_id = u.id AND m.run_id = e.run_id AND m.condition = 'success' AND s.id = e.run_id
      AND s.state || '' = 'suspended'
    UNION
    SELECT e.run_id, e.after_id
    FROM doomed d
    CROSS JOIN cronograph.flow_edge e CROSS JOIN cronograph.flow_run m CROSS JOIN cronograph.run_open s
    WHERE e.after_id = d.run_id AND m.run_id = e.run_id AND m.condition = 'success' AND s.id = e.run_id
      AND s.state || '' = 'suspended')
SELECT f.run_id, f.cause_id, m.key AS cause_key, c.state AS cause_state
FROM (SELECT run_id, min(cause_id) AS cause_id FROM doomed GROUP BY run_id) f
CROSS JOIN cronograph.flow_run m CROSS JOIN cronograph.run c
WHERE m.run_id = f.cause_id AND c.id = f.cause_id
