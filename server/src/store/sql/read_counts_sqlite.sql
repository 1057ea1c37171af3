-- As read_counts.sql. $1 is the ids as a JSON array, $2 the clock from before the statement: this process is the
-- database, so a time taken before its snapshot is never later than it. Offsets come as a JSON array.
SELECT i.item_id, i.like_count, i.dislike_count, i.version, p.offsets, p.as_of, CAST($2 AS bigint) AS read_at, p.epoch
FROM (SELECT json_group_array(c."offset") AS offsets,
             sum(c.epoch) AS epoch,
             min(CASE WHEN c."offset" = l.next_offset - 1 THEN $2
                      ELSE min($2, coalesce((SELECT e.created_at FROM reaction_event e
                                    WHERE e.partition = c.partition AND e."offset" = c."offset" + 1), 0)) END) AS as_of
      FROM (SELECT * FROM checkpoint ORDER BY partition) c JOIN log_partition l ON l.id = c.partition) p
LEFT JOIN item_count i ON i.item_id IN (SELECT value FROM json_each($1))
