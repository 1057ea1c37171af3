-- Writes the counters of measured items anew, under the locks of all checkpoints, in a statement later than the locks:
-- no fold runs, and this snapshot has all that were committed. {rows} is x: item i, likes l and dislikes d that its rows
-- have more than its shards had, its shards b and the time t of its last heal when that was measured.
WITH cp AS (SELECT partition, "offset" FROM checkpoint),
     -- The difference still holds: folds move rows as of the checkpoint and shards alike. Only another heal moves it, or
     -- a replay that meets a shard which was deleted; what either has touched is left to be measured again.
     ok AS MATERIALIZED
           (SELECT x.i AS item_id, s.likes + x.l AS likes, s.dislikes + x.d AS dislikes
            FROM {rows}
            CROSS JOIN LATERAL (SELECT coalesce(sum({likes}), 0)::bigint AS likes,
                                       coalesce(sum({dislikes}), 0)::bigint AS dislikes,
                                       coalesce(sum(1::bigint << partition), 0)::bigint AS shards
                                FROM item_count_shard WHERE item_id = x.i) s
            WHERE s.shards = x.b
              AND coalesce((SELECT reconciled_at FROM item_count WHERE item_id = x.i), 0) = x.t),
     -- Partition 0's shard gets the whole count, the others none. They stay, so that the next measurement is not
     -- spoilt by their coming back. By an array, or a plan may read all shards.
     z  AS (UPDATE item_count_shard s SET like_count = 0, dislike_count = 0,
              -- a shard of no partition may have been planted
              applied_offset = coalesce((SELECT cp."offset" FROM cp WHERE cp.partition = s.partition), s.applied_offset)
            WHERE s.partition <> 0
              AND s.item_id = ANY (ARRAY(SELECT item_id FROM ok))),
     f  AS (INSERT INTO item_count_shard (item_id, partition, like_count, dislike_count, applied_offset)
            SELECT item_id, 0, likes, dislikes, (SELECT "offset" FROM cp WHERE partition = 0) FROM ok ORDER BY 1
            ON CONFLICT (item_id, partition) DO UPDATE
              SET like_count = excluded.like_count, dislike_count = excluded.dislike_count,
                  applied_offset = excluded.applied_offset),
     t  AS (INSERT INTO item_count (item_id, like_count, dislike_count, version, reconciled_at)
            SELECT item_id, likes, dislikes, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                   (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM ok ORDER BY 1
            ON CONFLICT (item_id) DO UPDATE
              SET like_count = excluded.like_count, dislike_count = excluded.dislike_count,
                  version = greatest(least(item_count.version, 9007199254740990) + 1, excluded.version),
                  -- always another time than before, which is the guard of whoever measured before
                  reconciled_at = CASE WHEN item_count.reconciled_at < 4611686018427387904
                    THEN greatest(item_count.reconciled_at + 1, excluded.reconciled_at)
                    ELSE excluded.reconciled_at END),
     -- Shards that are missing have all their events up to here counted in partition 0's: a replay must not add them.
     b  AS (UPDATE checkpoint SET base_offset = "offset", epoch = epoch + 1 WHERE EXISTS (SELECT 1 FROM ok))
SELECT item_id FROM ok
