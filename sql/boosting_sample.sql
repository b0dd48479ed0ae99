-- Strategy sample: trees over a uniform sample of a join's rows.
SET client_min_messages = warning;
CREATE SCHEMA boosting_sample;
SET search_path = boosting_sample, public;
CREATE TABLE shop AS SELECT i AS shop, i % 5 AS region, (i * 37 % 101) / 10.0 AS area, i % 11 = 3 AS held_out
    FROM generate_series(1, 300) i;
CREATE TABLE visit AS SELECT i AS visit, i % 5 AS region, (ARRAY['red', 'green', 'blue', NULL])[1 + i % 4] AS colour,
    i * 7 % 23 AS size, (i * 7 % 23) * 2.0 + (i % 4) AS y, 1 + i % 3 AS w FROM generate_series(1, 700) i;
CREATE FUNCTION bytes(model btml.model) RETURNS text LANGUAGE sql AS $$ SELECT md5(model::text) $$;

-- 42,000 rows of the join: a sample of all of them is the join.
SELECT bytes(btml.boost_fit(source, 'y', trees => 5, strategy => 'sample', sample_rows => n))
    = bytes(btml.boost_fit(source, 'y', trees => 5, strategy => 'enumerate')) AS same
FROM (VALUES ('SELECT area, colour, size, y FROM shop JOIN visit USING (region)', 42000),
    ('SELECT area, colour, size, y FROM shop JOIN visit USING (region)', NULL), ('visit', 1000000),
    ('SELECT a.area, b.area AS area2, c.size, c.y FROM shop a, shop b, visit c
    WHERE a.region = b.region AND b.shop = c.visit AND c.region = a.region', 100000)) AS v(source, n);

-- A sample has as many rows as were asked for, as large a part of the held-out ones as of the others.
SELECT s->'rows' AS rows, s->'holdout_rows' AS holdout_rows, s->'rows_skipped' AS skipped, s->'join_rows' AS join_rows,
    s->'sample_rows' AS sample_rows, s->'strategy' AS strategy, s->'strategy_reason' AS reason
FROM unnest(ARRAY[1000, 41999, 2, 1]) AS n,
    LATERAL (SELECT btml.summary(btml.boost_fit('SELECT area, colour, size, nullif(y, 3) AS y, held_out
    FROM shop JOIN visit USING (region)', 'y', trees => 1, min_leaf_rows => 1, holdout => 'held_out', strategy => 'sample',
    sample_rows => n)) AS s) AS s;
SELECT round(avg(base)::numeric, 1) AS mean_of_means, round((SELECT avg(y) FROM shop JOIN visit USING (region)), 1) AS mean
FROM generate_series(1, 30) AS seed,
    LATERAL (SELECT (btml.summary(btml.tree_fit('SELECT area, y FROM shop JOIN visit USING (region)', 'y', max_leaves => 2,
    strategy => 'sample', sample_rows => 1000, seed => seed))->>'base')::float8 AS base) AS b;
-- Trees of a sample are about those of the join; a larger one comes closer.
SELECT n, round(sqrt(avg((btml.predict(m.model, v.*) - v.y) ^ 2))::numeric, 1) AS rmse
FROM unnest(ARRAY[100, 40000, NULL]) WITH ORDINALITY AS sizes(n, i),
    LATERAL (SELECT btml.boost_fit('SELECT area, colour, size, y FROM shop JOIN visit USING (region)', 'y', trees => 50,
    min_leaf_rows => 5, strategy => 'sample', sample_rows => n) AS model) AS m,
    (SELECT area, colour, size, y FROM shop JOIN visit USING (region)) AS v GROUP BY n, i ORDER BY i;

-- The same model wherever rows lie and with any number of threads; another with another seed.
CREATE TABLE shop2 AS SELECT * FROM shop ORDER BY md5(shop::text);
CREATE TABLE visit2 AS SELECT * FROM visit ORDER BY -visit;
CREATE FUNCTION fitted(shops text, visits text, seed bigint DEFAULT 0) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(bytes(btml.boost_fit(format(source, shops, visits), 'y', trees => 5, holdout => 'held_out', weight => 'w',
    criterion => criterion, strategy => 'sample', sample_rows => 3000, seed => seed)), ',') FROM (VALUES
        ('SELECT area, colour, size, y, w, held_out FROM %s s JOIN %s v USING (region)', 'variance'),
        ('SELECT area, colour, size, y, w, held_out FROM %s s JOIN %s v USING (region)', 'mse_sum'),
        ('SELECT s.area, v.colour, u.size, u.y, u.w, s.held_out FROM %1$s s JOIN %2$s v USING (region) LEFT
            JOIN %2$s u ON u.visit = v.size', 'variance'),
        ('SELECT a.area, v.colour, v.y, v.w, a.held_out, b.area AS area2 FROM %1$s a, %1$s b, %2$s v WHERE a.region = b.region
            AND b.area = v.size AND v.region = a.region', 'variance')) AS v(source, criterion) $$;
SELECT fitted('shop', 'visit') = fitted('shop2', 'visit2') AS same_rows,
    fitted('shop', 'visit') <> fitted('shop', 'visit', 1) AS another_seed;
SELECT fitted('shop', 'visit') AS one \gset
SET btml.threads = 3;
SELECT fitted('shop', 'visit2') = :'one' AS same;
RESET btml.threads;

-- A join of 10^18 rows and more.
CREATE TABLE many AS SELECT i AS id, i % 2 AS k, i % 7 AS z FROM generate_series(1, 10000) i;
SELECT s->'rows' AS rows, s->'join_rows' AS join_rows
    FROM unnest(ARRAY['SELECT a.z, b.z AS z2, c.z AS z3, d.z AS z4, a.z + 0.5 AS y FROM many a JOIN many b USING (k) JOIN many c USING (k)
    JOIN many d USING (k) JOIN many e USING (k)',
        'SELECT a.z, b.z AS z2, c.z AS z3, d.z AS z4, nullif(a.z, 3) AS y FROM many a, many b, many c, many d, many e, many f, many g'])
        AS source,
    LATERAL (SELECT btml.summary(btml.boost_fit(source, 'y', trees => 2, strategy => 'sample', sample_rows => 5000)) AS s) AS s;
SELECT btml.boost_fit('SELECT a.z, b.z AS y FROM many a, many b, many c, many d, many e', 'y', strategy => 'enumerate');

-- Without a number: as many of 10,000·2^k rows as fit, with a NOTICE, and the number repeats the model.
SET client_min_messages = notice;
SET btml.memory_limit = '24MB';
SELECT btml.boost_fit('SELECT a.z, b.z AS z2, a.id % 10 AS y FROM many a JOIN many b USING (k)', 'y', trees => 3,
    strategy => 'sample') AS model \gset
RESET btml.memory_limit;
SELECT s->'sample_rows' AS sample_rows, s->'join_rows' AS join_rows FROM btml.summary(:'model') AS s;
SELECT bytes(btml.boost_fit('SELECT a.z, b.z AS z2, a.id % 10 AS y FROM many a JOIN many b USING (k)', 'y', trees => 3,
    strategy => 'sample', sample_rows => (btml.summary(:'model')->>'sample_rows')::bigint)) = bytes(:'model') AS same;
SET client_min_messages = warning;

-- Errors.
SELECT btml.boost_fit('visit', 'y', sample_rows => 10);
SELECT btml.boost_fit('visit', 'y', strategy => 'factorize', sample_rows => 10);
SELECT btml.boost_fit('visit', 'y', strategy => 'sample', sample_rows => 0);
SELECT btml.boost_fit('visit', 'y', strategy => 'sample', sample_rows => -1);
SELECT btml.tree_fit('visit', 'y', strategy => 'sample', sample_rows => 5000000000);
SELECT btml.boost_fit('visit', 'y', strategy => 'samples');
SELECT btml.boost_fit('SELECT size, y, true AS held_out FROM visit', 'y', holdout => 'held_out', strategy => 'sample', sample_rows => 10);
SELECT btml.boost_fit('SELECT size, y FROM visit WHERE false', 'y', strategy => 'sample');
SELECT btml.boost_fit('SELECT size, NULL::int AS y FROM visit', 'y', strategy => 'sample');
SET btml.memory_limit = '16MB';
SELECT btml.boost_fit('SELECT a.z, b.z AS z2, a.id AS y FROM many a JOIN many b USING (k)', 'y', strategy => 'sample',
    sample_rows => 10000000);
RESET btml.memory_limit;
DROP SCHEMA boosting_sample CASCADE;
