-- The fold: for all partitions that this transaction has claimed ($1 partition, $2 offset to start after), the events
-- past the checkpoint become sums, the sums move the shards and the totals, and the checkpoints follow. $3 is the most
-- events of one partition. One statement for all partitions: partition by partition, two workers deadlock.
-- Replays pass an older $2; the checkpoint row itself is never moved back.
WITH w  AS (SELECT w.partition, w.o, l.next_offset - 1 AS last, c.base_offset
            FROM unnest($1::int[], $2::bigint[]) AS w(partition, o)
            JOIN log_partition l ON l.id = w.partition JOIN checkpoint c ON c.partition = w.partition),
     -- LATERAL, ORDER BY and LIMIT: the range of the primary key in every plan; a plain join reads the whole log
     ev AS MATERIALIZED
           (SELECT w.partition, e.item_id, e."offset", e.like_delta, e.dislike_delta, e.created_at, w.base_offset
            FROM w CROSS JOIN LATERAL (SELECT * FROM reaction_event r
                                       WHERE r.partition = w.partition AND r."offset" > w.o AND r."offset" <= w.o + $3
                                       ORDER BY r."offset" LIMIT $3) e),
     x  AS (SELECT w.partition, w.o, w.last, count(ev."offset") AS n, max(ev."offset") AS mx,
                   min(ev.created_at) AS oldest
            FROM w LEFT JOIN ev USING (partition) GROUP BY 1, 2, 3),
     -- the fence, by a scalar subquery: one index probe a key, where a join reads all shards
     k  AS MATERIALIZED
           (SELECT item_id, partition,
                   coalesce((SELECT s.applied_offset FROM item_count_shard s
                             WHERE s.item_id = g.item_id AND s.partition = g.partition), g.base_offset) AS fence
            FROM (SELECT item_id, partition, max(base_offset) AS base_offset FROM ev GROUP BY 1, 2) g),
     -- an event counts only past its shard's fence
     f  AS (SELECT item_id, partition, max(ev."offset") AS o, sum(ev.like_delta)::bigint AS l,
                   sum(ev.dislike_delta)::bigint AS d
            FROM ev JOIN k USING (item_id, partition) WHERE ev."offset" > k.fence GROUP BY 1, 2),
     m  AS (INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
            SELECT item_id, partition, l, d, o FROM f ORDER BY 1, 2
            ON CONFLICT (item_id, partition) DO UPDATE
              -- A count that was spoiled must not overflow here, and stop the counter for one item
              SET like_count = least(greatest(item_count_shard.like_count, -4611686018427387904), 4611686018427387904) + excluded.like_count,
                  dislike_count = least(greatest(item_count_shard.dislike_count, -4611686018427387904), 4611686018427387904)
                    + excluded.dislike_count,
                  applied_offset = excluded.applied_offset
              WHERE item_count_shard.applied_offset < excluded.applied_offset
            RETURNING item_id, partition),
     -- a sum of zero is written too: a changed heart or friend list must move the version
     t  AS (INSERT INTO item_count (item_id, like_count, dislike_count, version)
            SELECT f.item_id, sum(f.l), sum(f.d), (extract(epoch FROM clock_timestamp()) * 1000)::bigint
            FROM f GROUP BY 1 ORDER BY 1
            ON CONFLICT (item_id) DO UPDATE
              SET like_count = least(greatest(item_count.like_count, -4611686018427387904), 4611686018427387904) + excluded.like_count,
                  dislike_count = least(greatest(item_count.dislike_count, -4611686018427387904), 4611686018427387904) + excluded.dislike_count,
                  version = greatest(least(item_count.version, 9007199254740990) + 1, excluded.version)
            RETURNING item_id),
     c  AS (UPDATE checkpoint c SET "offset" = greatest(c."offset", x.mx)
            FROM x WHERE c.partition = x.partition AND x.mx IS NOT NULL RETURNING 1)
-- Checked before COMMIT: an offset is missing in the log, or somebody moved a shard without the checkpoint's lock.
-- t is not joined to m: a CTE that returns rows has no statistics, and the join goes quadratic.
SELECT x.partition, x.o AS from_offset, coalesce(x.mx, x.o) AS to_offset, x.n AS events, x.oldest,
       (x.last > x.o AND x.n <> least(x.last, x.o + $3) - x.o)
         OR (SELECT count(*) FROM m) <> (SELECT count(*) FROM f) AS gap,
       NULL AS item_id
FROM x
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, t.item_id FROM t
