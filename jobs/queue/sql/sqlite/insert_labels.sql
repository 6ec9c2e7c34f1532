-- Has new runs found by their labels.
--
-- Parameters:
--   runs: a JSON array of objects, each with the id of a run and the object of its labels
-- Index: pk_run_label
-- Called by: new_runs.index_labels
INSERT INTO cronograph.run_label (key, value, run_id)
SELECT l.key, l.value, json_extract(r.value, '$.id') FROM json_each(:runs) r, json_each(r.value, '$.labels') l
ORDER BY l.key, l.value
