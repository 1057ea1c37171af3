-- Copies of counts: the counts, their version, the offsets they include and countAsOf, in one statement and so in one
-- snapshot. Run outside a longer transaction: now() must not be later than the snapshot, as clock_timestamp() and
-- statement_timestamp() may be, nor much earlier.
SELECT i.item_id, i.like_count, i.dislike_count, i.version, p.offsets, p.as_of, p.read_at, p.epoch
FROM (SELECT array_agg(c."offset" ORDER BY c.partition) AS offsets,
             sum(c.epoch)::bigint AS epoch,
             (extract(epoch FROM now()) * 1000000)::bigint AS read_at,
             -- a partition folded to its end is true of this moment; else of the first event that is not folded; where
             -- that event is missing, the log is broken and nothing is claimed
             min(CASE WHEN c."offset" = l.next_offset - 1 THEN (extract(epoch FROM now()) * 1000000)::bigint
                      ELSE least((extract(epoch FROM now()) * 1000000)::bigint,
                                 coalesce((SELECT e.created_at FROM reaction_event e
                                           WHERE e.partition = c.partition AND e."offset" = c."offset" + 1), 0))
                 END) AS as_of
      FROM checkpoint c JOIN log_partition l ON l.id = c.partition) p
LEFT JOIN item_count i ON i.item_id = ANY($1)
