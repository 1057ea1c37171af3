-- What the rows, the shards and the totals say of each item, in one statement and so in one snapshot; it locks nothing.
-- The rows are counted as of the checkpoints: what the log holds past them is taken off again, since neither shards nor
-- totals have it. {among} bounds item_id; counts in braces are kept within bounds. An item that stands in one table
-- only is met too.
WITH cp AS (SELECT partition, "offset" FROM checkpoint),
     -- the states are literals, one branch each, or the partial indexes are not used
     n  AS (SELECT item_id, count(*) AS rl, 0 AS rd, 0 AS sl, 0 AS sd, 0 AS tl, 0 AS td, 0 AS shards, 0 AS healed_at
            FROM reaction WHERE state = 1 AND {among} GROUP BY item_id
            UNION ALL SELECT item_id, 0, count(*), 0, 0, 0, 0, 0, 0
            FROM reaction WHERE state = 2 AND {among} GROUP BY item_id
            UNION ALL SELECT item_id, -like_delta, -dislike_delta, 0, 0, 0, 0, 0, 0
            FROM {unfolded} WHERE {among}
            -- one bit for each shard that there is
            UNION ALL SELECT item_id, 0, 0, {likes}, {dislikes}, 0, 0, CAST(1 AS bigint) << partition, 0
            FROM item_count_shard WHERE {among}
            UNION ALL SELECT item_id, 0, 0, 0, 0, {likes}, {dislikes}, 0, coalesce(reconciled_at, 0)
            FROM item_count WHERE {among})
SELECT item_id, CAST(sum(rl) AS bigint) AS row_likes, CAST(sum(rd) AS bigint) AS row_dislikes,
       CAST(sum(sl) AS bigint) AS shard_likes, CAST(sum(sd) AS bigint) AS shard_dislikes,
       CAST(sum(tl) AS bigint) AS total_likes, CAST(sum(td) AS bigint) AS total_dislikes,
       CAST(sum(shards) AS bigint) AS shards, CAST(sum(healed_at) AS bigint) AS healed_at
FROM n GROUP BY item_id
