-- Begins runs that wait for the slots of concurrency keys that runs of this node have just left: the node goes on with them.
--
-- The same transaction has ended those runs and locked their keys. A key gets as many as have left it, in the order of
-- `let_go_by_slots`, and as far as that order goes: one that this node may not simply begin is let go by that statement,
-- for a claim. These are runs of another job, of a paused or limited group, exclusive ones, those that a schedule made,
-- that need a token, are for another version, or may have to be dropped. Nobody waits here: while the node is declared
-- dead, none is begun.
--
-- Parameters:
--   ids: the runs that have ended
--   jobs: the jobs whose runs the node begins
--   foreign: signatures of versions of jobs that are left to other nodes
--   groups: the only groups whose runs it begins; null: all
--   node_id, node: the node
-- Index: pk_run, ix_run_held_concurrency, ix_run_concurrent
-- Called by: finish.finish_common
WITH accepting AS MATERIALIZED (
    SELECT n.id FROM cronograph.node n
    WHERE n.id = :node_id AND n.state IN ('active', 'stalled', 'starting') FOR KEY SHARE SKIP LOCKED),
freed AS MATERIALIZED (
    SELECT e.concurrency_key AS key, min(e.job_name) AS job_name, count(*) AS runs
    FROM unnest(CAST(:ids AS bigint[])) AS u(id)
    CROSS JOIN LATERAL (
        SELECT r.concurrency_key, r.job_name FROM cronograph.run_done r
        WHERE r.id = u.id AND r.concurrency_key IS NOT NULL AND r.job_name || '' = ANY(CAST(:jobs AS text[]))
        OFFSET 0) e
    WHERE EXISTS (SELECT FROM accepting)
    GROUP BY e.concurrency_key HAVING min(e.job_name) = max(e.job_name)),
locked AS MATERIALIZED (
    SELECT r.id
    FROM freed f
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs FROM cronograph.run_open b
        WHERE b.concurrency_key = f.key AND {has_place}) busy
    CROSS JOIN LATERAL (
        SELECT o.id FROM (
            SELECT h.id, h.max_concurrent, row_number() OVER () AS place FROM (
                SELECT h.id, h.max_concurrent FROM cronograph.run_open h
                WHERE h.concurrency_key = f.key AND {held_for_place}
                ORDER BY h.concurrency_key, h.state, h.priority, h.due_at, h.id
                LIMIT f.runs) h) o
        WHERE busy.runs + o.place <= o.max_concurrent
        OFFSET 0) w
    CROSS JOIN LATERAL (
        SELECT r.id FROM cronograph.run_open r
        WHERE r.id = w.id AND r.due_at < clock_timestamp() AND r.state || '' IN ('stuck', 'waiting')
          AND r.job_name || '' = f.job_name AND r.rate_key IS NULL AND NOT (r.exclusive AND r.task_id IS NOT NULL)
          AND (r.signature IS NULL OR r.signature <> ALL(CAST(:foreign AS text[])))
          AND (CAST(:groups AS text[]) IS NULL OR r.group_name = ANY(CAST(:groups AS text[])))
          AND (r.expires_at IS NULL OR r.attempt > 0 OR r.expires_at > clock_timestamp() + interval '1 second')
          AND NOT (r.trigger = 'schedule' AND r.attempt = 0)
          AND NOT EXISTS (
              SELECT FROM cronograph.queue_group q
              WHERE q.name = r.group_name
                AND (q.paused_at IS NOT NULL OR q.max_running IS NOT NULL OR q.rate IS NOT NULL))
        FOR UPDATE SKIP LOCKED) r),
chosen AS MATERIALIZED (
    SELECT l.id, nextval('cronograph.job_execution_id_seq') AS execution_id FROM (SELECT id FROM locked ORDER BY id) l),
start AS MATERIALIZED (SELECT clock_timestamp() AS at, true AS with_event),
{begin}
SELECT
{begun}
FROM begun b, start s
