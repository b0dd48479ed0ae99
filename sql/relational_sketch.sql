-- Tensor sketches: the squared norm over a join, and sketches as values.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA tensor_sketch;
SET search_path = tensor_sketch;
CREATE TABLE sales (item int, shop int, pieces int, price float8);
CREATE TABLE items (item int, weight float8, kind text);
INSERT INTO sales SELECT i % 40, i % 7, i % 5, CASE WHEN i % 50 > 0 THEN (i * 7919 % 1000) / 100.0 - 5 END FROM generate_series(1, 2000) i;
INSERT INTO items SELECT i % 40, i, CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END FROM generate_series(1, 60) i;

-- Within the promise of the exact sum; the bounds follow from the sketch's size.
CREATE FUNCTION check_norm(source text, value name, options text DEFAULT '') RETURNS TABLE (k bigint, within_epsilon boolean,
    bounds boolean, relative_sd numeric) LANGUAGE plpgsql AS $$
DECLARE
    exact float8;
BEGIN
    EXECUTE format('SELECT sum(%I::float8 ^ 2) FROM (%s) s', value, source) INTO exact;
    RETURN QUERY EXECUTE format('SELECT evaluations, abs(n.value - %1$s) <= 0.1 * %1$s, %1$s BETWEEN lower
        AND upper, round((std_error / n.value)::numeric, 4) FROM btml.sketch_norm(%2$L, %3$L%4$s) n',
        exact, source, value, options);
END $$;
SELECT * FROM check_norm('SELECT price FROM sales', 'price');
SELECT * FROM check_norm('SELECT price FROM sales JOIN items USING (item)', 'price');
SELECT * FROM check_norm('SELECT weight, price FROM sales JOIN items USING (item)', 'weight');
SELECT * FROM check_norm('SELECT price, weight FROM sales JOIN items USING (item) JOIN (SELECT i AS shop
    FROM generate_series(0, 6) i) s USING (shop)', 'price');
SELECT * FROM check_norm('SELECT price * weight AS product FROM sales JOIN items USING (item)', 'product');
SELECT * FROM check_norm('SELECT price FROM sales LEFT JOIN items ON sales.item = items.item + 20', 'price', ', seed => 1');
SELECT * FROM check_norm('SELECT price FROM sales CROSS JOIN items', 'price', ', sketch_size => 20000');
SELECT * FROM check_norm('SELECT price FROM sales JOIN items USING (item)', 'price', ', epsilon => 0.05, delta => 0.2');
SELECT n.* IS NULL AS is_null, value > 0 AS positive, upper, evaluations
    FROM btml.sketch_norm('SELECT price FROM sales JOIN items USING (item)', 'price', sketch_size => 50) n;
SELECT btml.sketch_norm('sales', 'price', 1000, 0.1, 0.1, 3) = btml.sketch_norm('SELECT price FROM sales', 'price', sketch_size => 1000,
    seed => 3) AS same,
    btml.sketch_norm('sales', 'price', 1000, seed => 3) = btml.sketch_norm('sales', 'price', 1000, seed => 4) AS other_seed;

-- A row is hashed by its content, so a seed gives the same sketch wherever rows lie; rows that are equal are rows of
-- their own all the same.
CREATE TABLE shuffled AS SELECT * FROM sales ORDER BY md5(sales::text || random());
CREATE TABLE shuffled_items AS SELECT * FROM items ORDER BY random();
SELECT seed, abs(a.value / b.value - 1) < 1e-9 AS same
    FROM generate_series(1, 3) seed, btml.sketch_norm('SELECT price FROM sales JOIN items USING (item)', 'price', 3000, seed => seed) a,
    btml.sketch_norm('SELECT price FROM shuffled JOIN shuffled_items USING (item)', 'price', 3000, seed => seed) b;
SELECT seed, abs(a.value / b.value - 1) < 1e-9 AS same
    FROM generate_series(1, 3) seed, btml.sketch_norm('SELECT pieces FROM sales LEFT JOIN items ON sales.item = items.item + 20', 'pieces',
    3000, seed => seed) a,
    btml.sketch_norm('SELECT pieces FROM shuffled sales LEFT JOIN shuffled_items items ON sales.item = items.item + 20', 'pieces', 3000,
    seed => seed) b;
CREATE TABLE alike AS SELECT 1 AS item, 2::float8 AS price FROM generate_series(1, 1000);
CREATE TABLE alike_items AS SELECT 1 AS item FROM generate_series(1, 30);
-- The share of seeds within epsilon of the exact sums, 4,000 and 120,000; promised is 0.9.
SELECT source, avg((abs(n.value / exact - 1) <= 0.2)::int) >= 0.9 AS kept, avg(n.value / exact) BETWEEN 0.98 AND 1.02 AS unbiased
FROM (VALUES ('SELECT price FROM alike', 4000), ('SELECT price FROM alike JOIN alike_items USING (item)', 120000)) s(source, exact),
    generate_series(1, 200) seed,
    btml.sketch_norm(source, 'price', CASE WHEN source ~ 'JOIN' THEN 2750 ELSE 1250 END, seed => seed) n GROUP BY source ORDER BY source;
-- Values and keys that are equal are hashed alike: zeros of either sign, and NaN however it was made.
SELECT bool_and(a.value = b.value) AS zeros, bool_and(c.value = d.value) AS nans FROM generate_series(1, 20) seed,
    btml.sketch_norm('SELECT n::float8 AS x FROM (SELECT n, 0::float8 AS k
    FROM generate_series(1, 9) n) s JOIN (VALUES (0::float8), (1)) v(k) USING (k)', 'x', 7, seed => seed) a,
    btml.sketch_norm('SELECT n::float8 AS x FROM (SELECT n, ''-0''::float8 AS k
    FROM generate_series(1, 9) n) s JOIN (VALUES (''-0''::float8), (1)) v(k) USING (k)', 'x', 7, seed => seed) b,
    btml.sketch_norm('SELECT n::float8 AS x FROM (SELECT n, ''NaN''::float8 AS k
    FROM generate_series(1, 9) n) s JOIN (VALUES (''NaN''::float8), (1)) v(k) USING (k)', 'x', 7, seed => seed) c,
    btml.sketch_norm('SELECT n::float8 AS x FROM (SELECT n, -''NaN''::float8 AS k
    FROM generate_series(1, 9) n) s JOIN (VALUES (''NaN''::float8), (1)) v(k) USING (k)', 'x', 7, seed => seed) d;

-- verify.
SET client_min_messages = info;
SELECT evaluations FROM btml.sketch_norm('SELECT pieces FROM sales JOIN items USING (item)', 'pieces', 4000, seed => 1, verify => true);
SELECT sum(pieces ^ 2) FROM sales JOIN items USING (item);
SELECT * FROM btml.sketch_norm('SELECT price FROM sales WHERE false', 'price', verify => true);
SET client_min_messages = warning;

-- The same bytes on any number of threads.
SET btml.threads = 1;
CREATE TABLE threads AS SELECT n.* FROM btml.sketch_norm('SELECT price FROM sales JOIN items USING (item)', 'price', 3001) n;
SET btml.threads = 2;
SELECT threads = n AS same FROM threads, btml.sketch_norm('SELECT price FROM sales JOIN items USING (item)', 'price', 3001) n;
SET btml.threads = 5;
SELECT threads = n AS same FROM threads, btml.sketch_norm('SELECT price FROM sales JOIN items USING (item)', 'price', 3001) n;

-- It can be cancelled.
SET btml.threads = 1;
SET statement_timeout = '1s';
SELECT btml.sketch_norm('SELECT 1.5 AS x FROM generate_series(1, 20000) a(i) JOIN generate_series(1, 20000) b(i) USING (i)', 'x',
    sketch_size => 2000000);
RESET statement_timeout;
RESET btml.threads;

-- Wrong arguments.
SELECT btml.sketch_norm(NULL, 'price');
SELECT btml.sketch_norm('sales', NULL);
SELECT btml.sketch_norm('sales', 'price', epsilon => NULL);
SELECT btml.sketch_norm('sales', 'price', delta => NULL);
SELECT btml.sketch_norm('sales', 'price', seed => NULL);
SELECT btml.sketch_norm('sales', 'price', verify => NULL);
SELECT btml.sketch_norm('sales', 'prize');
\echo :SQLSTATE
SELECT btml.sketch_norm('items', 'kind');
\echo :SQLSTATE
SELECT btml.sketch_norm('sales', 'price', sketch_size => 0);
\echo :SQLSTATE
SELECT btml.sketch_norm('sales', 'price', epsilon => 0);
SELECT btml.sketch_norm('sales', 'price', epsilon => 1);
SELECT btml.sketch_norm('sales', 'price', epsilon => 'NaN');
SELECT btml.sketch_norm('sales', 'price', delta => 0);
SELECT btml.sketch_norm('sales', 'price', delta => 1);
SELECT btml.sketch_norm('sales', 'price', epsilon => 1e-6);
\echo :SQLSTATE
SELECT btml.sketch_norm('sales', 'price', epsilon => 1e-4);
\echo :SQLSTATE
\set VERBOSITY sqlstate
SELECT btml.sketch_norm('sales', 'price', sketch_size => 2000000000);
\set VERBOSITY default
SELECT btml.sketch_norm('SELECT ''NaN''::float8 AS x', 'x');
\echo :SQLSTATE
SELECT btml.sketch_norm('SELECT ''Infinity''::float8 AS x', 'x');
SELECT btml.sketch_norm('SELECT ''-Infinity''::float8 AS x', 'x');
SELECT btml.sketch_norm('SELECT 1e200 AS x', 'x');
\echo :SQLSTATE
-- Rows that join to nothing are not looked at.
SELECT round(value::numeric, 9)
    FROM btml.sketch_norm('SELECT x FROM (VALUES (1, 2.0::float8), (2, ''NaN'')) a(k, x) JOIN (VALUES (1)) b(k) USING (k)', 'x');

-- The aggregate: linear, so that parts add up; keys are hashed by position.
CREATE FUNCTION plus(a float8[], b float8[]) RETURNS float8[] LANGUAGE sql AS 'SELECT array_agg(x + y ORDER BY i)
    FROM unnest(a, b) WITH ORDINALITY u(x, y, i)';
SELECT btml.tensor_sketch_agg(2.5, '{a}', 8, 1), btml.tensor_sketch_agg(2.5, '{a}', 8, 2), btml.tensor_sketch_agg(2.5, '{a,b}', 8, 1),
    btml.tensor_sketch_agg(2.5, '{b,a}', 8, 1), btml.tensor_sketch_agg(-1, '{""}', 1, 0);
SELECT btml.tensor_sketch_agg(v, '{a}', 8, 1) = btml.tensor_sketch_agg(6, '{a}', 8, 1) FILTER (WHERE v = 1) AS values_of_equal_keys_add_up
    FROM (VALUES (1), (2), (3)) t(v);
SELECT array_length(whole, 1) AS size, plus(even, odd) = whole AS parts_add_up,
    btml.sketch_inner(whole, even) = btml.sketch_inner(even, even) + btml.sketch_inner(odd, even) AS bilinear
FROM (SELECT btml.tensor_sketch_agg(pieces, ARRAY[item, shop]::text[], 64, -1) AS whole,
    btml.tensor_sketch_agg(pieces, ARRAY[item, shop]::text[], 64, -1) FILTER (WHERE pieces % 2 = 0) AS even,
    btml.tensor_sketch_agg(pieces, ARRAY[item, shop]::text[], 64, -1) FILTER (WHERE pieces % 2 = 1) AS odd FROM sales) s;
-- Estimates of a squared norm and of the size of a join.
SELECT abs(btml.sketch_inner(s, s) / n - 1) < 0.1 AS norm, n
    FROM (SELECT btml.tensor_sketch_agg(pieces, ARRAY[item, shop, pieces]::text[], 4000, 1) AS s FROM sales) a,
    (SELECT sum(x ^ 2) AS n FROM (SELECT sum(pieces) AS x FROM sales GROUP BY item, shop, pieces) g) b;
SELECT abs(btml.sketch_inner(a, b) / n - 1) < 0.1 AS join_size, n
    FROM (SELECT btml.tensor_sketch_agg(1, ARRAY[item::text], 4000, 1) AS a FROM sales) a,
    (SELECT btml.tensor_sketch_agg(1, ARRAY[item::text], 4000, 1) AS b FROM items) b, (SELECT count(*) AS n
    FROM sales JOIN items USING (item)) c;
-- Unbiased, with the promised spread.
SELECT abs(avg(e)) < 0.03 AS unbiased, sqrt(avg(e ^ 2)) < sqrt(11.0 / 100) AS spread FROM (
    SELECT btml.sketch_inner(s, s) / 200 - 1 AS e
    FROM (SELECT btml.tensor_sketch_agg(1, ARRAY[i % 20, i / 20]::text[], 100, seed) AS s
    FROM generate_series(1, 200) i, generate_series(1, 300) seed GROUP BY seed) a) b;
SELECT item % 2 AS odd, array_length(btml.tensor_sketch_agg(1, ARRAY[shop::text], 5, item % 2), 1) AS size FROM sales GROUP BY 1 ORDER BY 1;
SELECT shop, btml.tensor_sketch_agg(1, ARRAY[item::text], 3, 0) OVER (ORDER BY shop, item ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
    FROM sales WHERE item < 3 AND pieces = 0 AND shop < 2 ORDER BY shop, item LIMIT 4;
SELECT btml.tensor_sketch_agg(1, '{a}', 4, 0) FROM sales WHERE false;
SELECT btml.tensor_sketch_agg(1, '{{a,b},{c,d}}', 4, 0);
SELECT btml.tensor_sketch_agg(1.7e308, '{a}', 4, 0) FROM generate_series(1, 2);
SELECT btml.sketch_inner('{1e200}', '{1e200}');

-- In parallel workers: whole numbers add up alike in any order.
CREATE TABLE many AS SELECT i % 7 AS g, i % 10 AS x, i % 300 AS y FROM generate_series(1, 20000) i;
ANALYZE many;
CREATE TABLE serial AS SELECT g, btml.tensor_sketch_agg(x, ARRAY[y]::text[], 200, 1) AS s,
    btml.tensor_sketch_agg(x, ARRAY[y]::text[], 2, 1) AS tiny FROM many GROUP BY ROLLUP (g);
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT btml.tensor_sketch_agg(x, ARRAY[y]::text[], 200, 1) FROM many;
SELECT p.s = serial.s AS same, p.tiny = serial.tiny AS same_tiny
    FROM (SELECT btml.tensor_sketch_agg(x, ARRAY[y]::text[], 200, 1) AS s, btml.tensor_sketch_agg(x, ARRAY[y]::text[], 2, 1) AS tiny
    FROM many) p, serial WHERE serial.g IS NULL;
SELECT count(*), bool_and(p.s = serial.s) AS same
    FROM (SELECT g, btml.tensor_sketch_agg(x, ARRAY[y]::text[], 200, 1) AS s FROM many GROUP BY g) p JOIN serial USING (g);
SELECT btml.tensor_sketch_agg(x, ARRAY[y]::text[], 200, 1) FROM many WHERE x < 0;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- Wrong rows.
SELECT btml.tensor_sketch_agg(NULL, '{a}', 4, 0);
\echo :SQLSTATE
SELECT btml.tensor_sketch_agg('NaN', '{a}', 4, 0);
\echo :SQLSTATE
SELECT btml.tensor_sketch_agg('-Infinity', '{a}', 4, 0);
SELECT btml.tensor_sketch_agg('Infinity', '{a}', 4, 0);
SELECT btml.tensor_sketch_agg(1, NULL, 4, 0);
SELECT btml.tensor_sketch_agg(1, '{a,NULL}', 4, 0);
\echo :SQLSTATE
SELECT btml.tensor_sketch_agg(1, '{}', 4, 0);
SELECT btml.tensor_sketch_agg(1, array_fill('a'::text, '{1001}'), 4, 0);
SELECT btml.tensor_sketch_agg(1, '{a}', NULL, 0);
SELECT btml.tensor_sketch_agg(1, '{a}', 0, 0);
SELECT btml.tensor_sketch_agg(1, '{a}', 2000000000, 0);
SELECT btml.tensor_sketch_agg(1, '{a}', 4, NULL);
SELECT btml.tensor_sketch_agg(1, CASE WHEN i = 1 THEN '{a}'::text[] ELSE '{a,b}' END, 4, 0) FROM generate_series(1, 2) i;
\echo :SQLSTATE
SELECT btml.tensor_sketch_agg(1, '{a}', 3 + i, 0) FROM generate_series(1, 2) i;
SELECT btml.tensor_sketch_agg(1, '{a}', 4, i) FROM generate_series(1, 2) i;
SELECT btml.tensor_sketch_agg(1, '{a}', 4, i * 4294967296) FROM generate_series(1, 2) i;

-- Inner products.
SELECT btml.sketch_inner('{1,2,3}', '{4,5,-6}'), btml.sketch_inner(NULL, '{1}'), btml.sketch_inner('{1}', NULL);
SELECT btml.sketch_inner('{1,2}', '{1,2,3}');
\echo :SQLSTATE
SELECT btml.sketch_inner('{1,NULL}', '{1,2}');
\echo :SQLSTATE
SELECT btml.sketch_inner('{1,2}', '{1,NULL}');
SELECT btml.sketch_inner('{}', '{}');
SELECT btml.sketch_inner('{{1,2}}', '{{1,2}}');

-- Its support functions are anybody's to call; outside of an aggregate they leave their arguments alone.
SELECT btml_internal.tensor_sketch_accumulate(NULL, 2, '{a}', 3, 1), btml_internal.tensor_sketch_accumulate(s, 2, '{a}', 3, 1), s
    FROM (SELECT '{1,0,1,10,10,10}'::float8[] AS s OFFSET 0) t;
SELECT btml_internal.tensor_sketch_combine(s, s), s, btml_internal.tensor_sketch_combine(NULL, s),
    btml_internal.tensor_sketch_combine(s, NULL), btml_internal.tensor_sketch_combine(NULL, NULL), btml_internal.tensor_sketch_final(s),
    btml_internal.tensor_sketch_final(NULL)
FROM (SELECT '{1,0,1,1,2,3}'::float8[] AS s OFFSET 0) t;
SELECT btml_internal.tensor_sketch_combine('{1,0,1,1}', '{1,0,1,1,2}');
SELECT btml_internal.tensor_sketch_combine('{1,0,1,1}', '{2,0,1,1}');
SELECT btml_internal.tensor_sketch_combine('{1,0,1,1}', '{1,1,1,1}');
\set VERBOSITY terse
SELECT btml_internal.tensor_sketch_final('{}');
SELECT btml_internal.tensor_sketch_final('{1,0,1}');
SELECT btml_internal.tensor_sketch_final('{0,0,1,1}');
SELECT btml_internal.tensor_sketch_final('{1001,0,1,1}');
SELECT btml_internal.tensor_sketch_final('{1.5,0,1,1}');
SELECT btml_internal.tensor_sketch_final('{NaN,0,1,1}');
SELECT btml_internal.tensor_sketch_final('{1,-1,1,1}');
SELECT btml_internal.tensor_sketch_final('{1,0,4294967296,1}');
SELECT btml_internal.tensor_sketch_final('{1,0,1,NULL}');
SELECT btml_internal.tensor_sketch_final('{{1,0},{1,1}}');
SELECT btml_internal.tensor_sketch_combine('{1,0,1,1}', '{1,0,1}');
SELECT btml_internal.tensor_sketch_accumulate('{1,0}', 2, '{a}', 3, 1);
-- A cyclic join: its bags are no tables of their own.
SELECT round((value / exact - 1)::numeric, 1) AS error, evaluations, round((std_error / value * sqrt(evaluations))::numeric, 6) AS sd FROM (
    SELECT n.*, (SELECT sum(a.v ^ 2) FROM generate_series(1, 60) i, LATERAL (SELECT i % 7 AS p, i % 5 AS q, i % 11 AS v) a
    JOIN LATERAL (SELECT j % 5 AS q, j % 6 AS r FROM generate_series(1, 40) j) b USING (q)
        JOIN LATERAL (SELECT k % 6 AS r, k % 7 AS p FROM generate_series(1, 50) k) c ON c.r = b.r AND c.p = a.p) AS exact
    FROM btml.sketch_norm('SELECT a.v FROM (SELECT i % 7 AS p, i % 5 AS q, i % 11 AS v
    FROM generate_series(1, 60) i) a JOIN (SELECT j % 5 AS q, j % 6 AS r FROM generate_series(1, 40) j) b USING (q)
        JOIN (SELECT k % 6 AS r, k % 7 AS p FROM generate_series(1, 50) k) c ON c.r = b.r AND c.p = a.p', 'v', 20000, verify => true) n) e;
SET btml.memory_limit = '64kB';
SELECT btml.tensor_sketch_agg(1, ARRAY['a'], 100000, 0);
RESET btml.memory_limit;
DROP SCHEMA tensor_sketch CASCADE;
