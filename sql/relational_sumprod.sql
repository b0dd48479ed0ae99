-- SumProd queries over every semiring, whole and by group, and the aggregate.
SET client_min_messages = warning;
SET jit = off;
CREATE SCHEMA sumprod;
SET search_path = sumprod;
CREATE TABLE sales (item int, shop text, pieces int, price float8);
CREATE TABLE items (item int, weight numeric, kind text);
INSERT INTO sales VALUES (1, 'a', 2, 1.5), (1, 'b', 3, 2), (2, 'a', 1, 10), (2, NULL, 4, 0.5), (3, 'b', NULL, 7), (4, 'b', 5, 1), (NULL,
    'a', 6, 1), (2, 'a', 1, 10);
INSERT INTO items VALUES (1, 2.5, 'x'), (2, 0.25, 'y'), (2, 4, 'x'), (3, 1, NULL), (5, 9, 'z'), (4, NULL, 'z');

-- Each semiring against SQL. A row with a NULL factor is skipped.
SELECT semiring, btml.sumprod('SELECT pieces, price, weight FROM sales JOIN items USING (item)', semiring) FROM
    unnest(ARRAY['sum_product', 'max_product', 'min_plus', 'max_plus', 'or_and']) AS semiring;
SELECT sum(pieces * price * weight::float8), max(pieces * price * weight::float8), min(pieces + price + weight::float8),
    max(pieces + price + weight::float8),
    max((pieces <> 0 AND price <> 0 AND weight <> 0)::int) FILTER (WHERE pieces * price * weight::float8 IS NOT NULL)
FROM sales JOIN items USING (item);
SELECT btml.sumprod('SELECT pieces FROM sales'), btml.sumprod('SELECT pieces * 2 AS twice, price + 1 FROM sales');
SELECT btml.sumprod('SELECT NULL::int AS n FROM sales'), btml.sumprod('SELECT pieces, NULL::float8 AS n FROM sales', 'max_plus');

-- An empty join has the identity of the sum; a row without factors that of the product.
SELECT semiring, btml.sumprod('SELECT price FROM sales WHERE false', semiring) AS empty,
    btml.sumprod('SELECT price, weight FROM sales JOIN items ON sales.item = items.item + 10', semiring) AS no_match,
    btml.sumprod('SELECT FROM sales WHERE false', semiring) AS empty_without_factors,
    btml.sumprod('SELECT FROM sales', semiring) AS without_factors
FROM unnest(ARRAY['sum_product', 'max_product', 'min_plus', 'max_plus', 'or_and']) AS semiring;

-- Factors of every type that is a number, a boolean, a date or a time.
SET timezone = 'UTC';
SELECT expression, btml.sumprod(format('SELECT %s AS f', expression)) AS btml
    FROM unnest(ARRAY['2::int2', '3::int4', '4::int8', '0.1::float4', '0.1::float8', '0.1::numeric',
    '123456789012345678901234567890.5', '''NaN''::numeric', '''NaN''::float8', '''-Infinity''::float8', '1e-400::numeric', 'true',
    'date ''1970-01-03''', 'date ''infinity''', 'time ''01:00''', 'timestamp ''1970-01-01 00:00:01.5''',
    'timestamptz ''1970-01-01 02:00+01''', 'interval ''1 day 2 seconds''', 'interval ''1 year''']) AS expression;
SELECT expression, btml.sumprod(format('SELECT %s AS f', expression), 'or_and') AS or_and
    FROM unnest(ARRAY['true', 'false', '0', '-0.0::float8', '2', '''NaN''::float8']) AS expression;
SELECT btml.sumprod('SELECT kind FROM items');
SELECT btml.sumprod('SELECT ''x'' AS label');
SELECT btml.sumprod('SELECT ARRAY[1] AS list');
SELECT btml.sumprod('SELECT items FROM items');

-- Wrong arguments.
SELECT btml.sumprod('SELECT 1', 'sum');
SELECT btml.sumprod('SELECT 1', NULL);
SELECT btml.sumprod('SELECT 1', '');
SELECT btml.sumprod('SELECT price - 5 AS lower FROM sales', 'max_product');
\echo :SQLSTATE
SELECT btml.sumprod('SELECT price - 5 AS lower FROM sales', 'max_plus');

-- Counts are exact up to 2^53 and refused beyond.
SELECT btml.sumprod(format('SELECT FROM %s', string_agg(format('generate_series(1, 1024) AS g%s', i), ', ')))::int8
    FROM generate_series(1, 5) i;
SELECT btml.sumprod(format('SELECT FROM %s, generate_series(1, 8) AS h',
    string_agg(format('generate_series(1, 1024) AS g%s', i), ', ')))::int8 FROM generate_series(1, 5) i;
SELECT btml.sumprod(format('SELECT FROM %s, generate_series(1, 9) AS h', string_agg(format('generate_series(1, 1024) AS g%s', i), ', ')))
    FROM generate_series(1, 5) i;
\echo :SQLSTATE
SELECT btml.sumprod(format('SELECT FROM %s', string_agg(format('generate_series(1, 1024) AS g%s', i), ', '))) FROM generate_series(1, 12) i;
-- The same with a factor is a sum of doubles.
SELECT btml.sumprod(format('SELECT 1 AS one FROM %s', string_agg(format('generate_series(1, 1024) AS g%s', i), ', ')))
    = 2.0::float8 ^ 120 AS exact FROM generate_series(1, 12) i;
SELECT btml.sumprod('SELECT g1, g2 FROM generate_series(1, 1000) AS g1, generate_series(1, 1000) AS g2'), 500500.0 * 500500.0;

-- By group.
SELECT * FROM btml.sumprod_by('SELECT shop, pieces, price, weight FROM sales JOIN items USING (item)', '{shop}') AS t (shop text,
    value float8) ORDER BY shop;
SELECT shop, sum(pieces * price * weight::float8) FROM sales JOIN items USING (item) WHERE pieces * price * weight IS NOT NULL
    GROUP BY shop ORDER BY shop;
SELECT * FROM btml.sumprod_by('SELECT kind, item, price FROM sales JOIN items USING (item)', '{kind,item}', 'max_plus') AS t (a text,
    b int, value float8);
SELECT * FROM btml.sumprod_by('SELECT kind, items.item, price FROM sales JOIN items ON sales.item = items.item', '{kind,item}',
    'max_plus') AS t (a text, b int, value float8) ORDER BY a, b;
SELECT kind, item, max(price) FROM sales JOIN items USING (item) GROUP BY kind, item ORDER BY kind, item;
SELECT * FROM btml.sumprod_by('SELECT kind FROM sales JOIN items USING (item)', '{kind}') AS t (kind text, rows float8) ORDER BY kind;
SELECT * FROM btml.sumprod_by('SELECT kind, pieces FROM sales LEFT JOIN items USING (item)', '{kind}') AS t (kind text, value float8)
    ORDER BY kind;
SELECT coalesce(kind, 'none') AS kind, sum(pieces) FROM sales LEFT JOIN items USING (item) GROUP BY 1 ORDER BY 1;
SELECT * FROM btml.sumprod_by('SELECT coalesce(kind, ''none'') AS kind, pieces FROM sales LEFT JOIN items USING (item)',
    '{kind}') AS t (kind text, value float8) ORDER BY kind;
SELECT * FROM btml.sumprod_by('SELECT ''all'' AS k, pieces FROM sales', '{k}') AS t (k text, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales WHERE false', '{shop}') AS t (shop text, value float8);

-- Infinity and NaN are what they are in the rows; finite factors have a finite result or an error.
SELECT semiring, btml.sumprod('SELECT a, b FROM (VALUES (1, ''Infinity''::float8)) x(k, a) JOIN (VALUES (1, 1), (1, 0)) y(k, b) USING (k)',
    semiring)
FROM unnest(ARRAY['sum_product', 'max_product', 'min_plus', 'max_plus', 'or_and']) AS semiring;
SELECT sum(a * b) FROM (VALUES (1, 'Infinity'::float8)) x(k, a) JOIN (VALUES (1, 1), (1, 0)) y(k, b) USING (k);
SELECT * FROM btml.sumprod_by('SELECT b, a FROM (VALUES (1, ''Infinity''::float8)) x(k, a) JOIN (VALUES (1, 1), (1, 0)) y(k, b) USING (k)',
    '{b}') AS t (b int, value float8) ORDER BY b;
SELECT btml.sumprod('SELECT a, b FROM (VALUES (1e200::float8)) x(a), (VALUES (1e200::float8)) y(b)');
SELECT btml.sumprod('SELECT a, a AS b FROM (VALUES (1e200::float8)) x(a)', 'max_product');
SELECT btml.sumprod('SELECT a FROM (VALUES (1.7e308::float8), (1.7e308)) x(a)');
SELECT * FROM btml.sumprod_by('SELECT k, a FROM (VALUES (1, 1.7e308::float8), (1, 1.7e308)) x(k, a)', '{k}') AS t (k int, value float8);
SELECT btml.sumprod_agg(ARRAY[1e200, 1e200]::float8[]);
SELECT btml.sumprod_agg(ARRAY[1.7e308]::float8[]) FROM generate_series(1, 2);

-- Group columns of every type; -0 and 0, and 1.0 and 1.00, are one group.
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE kinds (b boolean, i2 int2, f8 float8, num numeric, d date, tz timestamptz, span interval, vc varchar(5), bp char(4), nm name,
    m mood, id uuid, raw bytea, ints int[], js jsonb, p positive, o oid);
INSERT INTO kinds VALUES
    (true, 1, 0, 1.0, '2001-01-01', '2001-01-01 00:00+00', '1 mon', 'one', 'one', 'one', 'sad', '00000000-0000-0000-0000-000000000001',
    '\x01', '{1}', '{"a": 1}', 1, 1),
    (true, 1, '-0', 1.00, '2001-01-01', '2001-01-01 01:00+01', '30 days', 'one', 'one ', 'one', 'sad',
    '00000000-0000-0000-0000-000000000001', '\x01', '{1}', '{"a": 1.0}', 1, 1),
    (NULL, NULL, 'NaN', 'NaN', 'infinity', '-infinity', '0', '', '', '', 'happy', NULL, '', '{}', '1', 2, 4000000000);
-- A domain, or the type that it is over, but no other domain.
CREATE DOMAIN other AS int;
SELECT * FROM btml.sumprod_by('SELECT p FROM kinds', '{p}') AS t (p positive, rows float8) ORDER BY p;
SELECT * FROM btml.sumprod_by('SELECT p FROM kinds', '{p}') AS t (p int, rows float8) ORDER BY p;
SELECT * FROM btml.sumprod_by('SELECT p FROM kinds', '{p}') AS t (p other, rows float8) ORDER BY p;
-- How many groups, and how many of them SQL does not have or has otherwise.
CREATE FUNCTION groups_of("column" name, type text, OUT groups int, OUT differ int) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('WITH e AS (SELECT %1$I AS k, count(*)::float8 AS value FROM kinds GROUP BY 1),
            g AS (SELECT * FROM btml.sumprod_by(''SELECT %1$I FROM kinds'', ''{%1$s}'') AS t (k %2$s, value float8))
        SELECT (SELECT count(*) FROM g), (SELECT count(*)
        FROM ((TABLE e EXCEPT ALL TABLE g) UNION ALL (TABLE g EXCEPT ALL TABLE e)) AS d)', "column", type)
    INTO groups, differ;
END $$;
SELECT attname, format_type(base, NULL) AS type, g.*
    FROM pg_attribute JOIN pg_type t ON t.oid = atttypid,
    LATERAL (SELECT CASE WHEN typbasetype = 0 THEN t.oid ELSE typbasetype END AS base) AS b,
    LATERAL groups_of(attname, format_type(base, NULL)) AS g WHERE attrelid = 'kinds'::regclass AND attnum > 0 ORDER BY attnum;
SELECT * FROM btml.sumprod_by('kinds', '{b,i2,f8,num,d,tz,span,vc,bp,nm,m,id,raw,ints,js,p,o}') AS t (b boolean, i2 int2, f8 float8,
    num numeric, d date, tz timestamptz, span interval,
    vc varchar, bp char, nm name, m mood, id uuid, raw bytea, ints int[], js jsonb, p int, o oid, value float8) ORDER BY i2;
SELECT * FROM btml.sumprod_by('SELECT p FROM kinds', '{p}') AS t (p positive, value float8);
SELECT * FROM btml.sumprod_by('SELECT ''1''::json AS j', '{j}') AS t (j json, value float8);
SELECT * FROM btml.sumprod_by('SELECT point ''(1,2)'' AS q', '{q}') AS t (q point, value float8);

-- Wrong groups and column lists.
SELECT * FROM btml.sumprod_by('sales', NULL) AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('sales', '{}') AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('sales', '{shop,NULL}') AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('sales', '{shop,shop}') AS t (a text, b text, value float8);
SELECT * FROM btml.sumprod_by('sales', '{shops}') AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('sales', '{pieces}') AS t (pieces int, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop, kind FROM sales JOIN items USING (item)', '{shop,kind}') AS t (a text, b text, value float8);
\echo :SQLSTATE
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}') AS t (value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}') AS t (shop text, value float8, more int);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}') AS t (shop int, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}') AS t (shop varchar, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}') AS t (shop text, value int);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}');
SELECT btml.sumprod_by('SELECT shop FROM sales', '{shop}');
SELECT * FROM btml.sumprod_by(NULL, '{shop}') AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}', NULL) AS t (shop text, value float8);
SELECT * FROM btml.sumprod_by('SELECT shop FROM sales', '{shop}', 'sums') AS t (shop text, value float8);

-- The aggregate over any query's rows.
SELECT btml.sumprod_agg(ARRAY[pieces, price]), sum(pieces * price) FROM sales;
SELECT semiring, (SELECT btml.sumprod_agg(ARRAY[pieces, price], semiring) FROM sales) AS agg,
    btml.sumprod('SELECT pieces, price FROM sales', semiring) AS join
FROM unnest(ARRAY['sum_product', 'max_product', 'min_plus', 'max_plus', 'or_and']) AS semiring;
SELECT shop, btml.sumprod_agg(ARRAY[pieces, price]) FROM sales GROUP BY shop ORDER BY shop;
SELECT shop, btml.sumprod_agg(ARRAY[pieces, price]) FILTER (WHERE pieces > 1) FROM sales GROUP BY ROLLUP (shop) ORDER BY shop, 2;
SELECT item, btml.sumprod_agg(ARRAY[price]) OVER (PARTITION BY shop ORDER BY item, price ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    FROM sales WHERE shop = 'a' ORDER BY item, price;
SELECT btml.sumprod_agg('{}'::float8[]), btml.sumprod_agg(NULL::float8[]), btml.sumprod_agg(ARRAY[1, NULL]::float8[]),
    btml.sumprod_agg('{2}') FROM sales;
SELECT btml.sumprod_agg(ARRAY[price]) FROM sales WHERE false;
SELECT btml.sumprod_agg(ARRAY[price], 'max_plus') FROM sales WHERE false;
SELECT btml.sumprod_agg(ARRAY['NaN', 1]::float8[]), btml.sumprod_agg(ARRAY['Infinity', 2]::float8[]),
    btml.sumprod_agg(ARRAY['Infinity', 0]::float8[]);
SELECT btml.sumprod_agg('[0:1]={2,3}'::float8[]);
SELECT btml.sumprod_agg('{{1,2},{3,4}}'::float8[]);
-- A NULL skips its row wherever it stands among the factors, as in a join.
SELECT btml.sumprod_agg(factors, 'max_product'), btml.sumprod_agg(factors)
    FROM (VALUES ('{-1,NULL}'::float8[]), ('{NULL,-1}'), ('{1e200,1e200,NULL}'), ('{2,3}')) rows(factors);
SELECT btml.sumprod_agg(ARRAY[price], 'product') FROM sales;
SELECT btml.sumprod_agg(ARRAY[price], NULL) FROM sales;
SELECT btml.sumprod_agg(ARRAY[price], CASE WHEN pieces > 2 THEN 'min_plus' ELSE 'max_plus' END) FROM sales;
SELECT btml.sumprod_agg(ARRAY[price - 5], 'max_product') FROM sales;
\echo :SQLSTATE

-- In parallel workers: whole numbers add up alike in any order.
-- The order of rows changes no bit of a total over one table, or over a fact table and dimensions with unique keys, wherever they stand.
CREATE TABLE fact AS SELECT i % 50 AS a, i * 7 % 30 AS b, (hashint4(i) % 1000 + 0.1::float8) * 10::float8 ^ (i % 20) AS x
    FROM generate_series(1, 3000) i;
CREATE TABLE first_dimension AS SELECT a, sin(a) AS u FROM generate_series(0, 49) a;
CREATE TABLE second_dimension AS SELECT b, cos(b) AS v FROM generate_series(0, 29) b;
CREATE TABLE shuffled_fact AS SELECT * FROM fact ORDER BY random();
CREATE TABLE upward_fact AS SELECT * FROM fact ORDER BY abs(x);
SELECT source, count(DISTINCT total) AS totals, bool_and(total = exact) AS exact
    FROM (VALUES ('SELECT x FROM sumprod.%1$sfact', (SELECT btml.exact_sum(x) FROM fact)),
    ('SELECT x, u, v FROM sumprod.%1$sfact JOIN sumprod.first_dimension USING (a) JOIN sumprod.second_dimension USING (b)', NULL),
    ('SELECT x, u, v FROM sumprod.second_dimension CROSS JOIN sumprod.first_dimension JOIN sumprod.%1$sfact USING (a, b)', NULL)) s(source,
    exact),
    unnest('{"",shuffled_,upward_}'::text[]) fact, btml.sumprod(format(source, fact)) total GROUP BY source ORDER BY source;
SELECT btml.sumprod('SELECT * FROM (VALUES (1e308::float8), (1e308), (-1e308), (-1e308), (1)) v(x)') AS past_the_largest_and_back;
CREATE TABLE many AS SELECT i % 7 AS g, i % 10 AS x, i % 3 AS y FROM generate_series(1, 20000) i;
ANALYZE many;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT btml.sumprod_agg(ARRAY[x, y]) FROM many;
SELECT btml.sumprod_agg(ARRAY[x, y]), sum(x * y) FROM many;
SELECT btml.sumprod_agg(ARRAY[x, y], 'max_plus'), max(x + y) FROM many;
SELECT btml.sumprod_agg(ARRAY[x, y]) FROM many WHERE x < 0;
-- Whether a worker or the leader says it is chance.
\set SHOW_CONTEXT never
SELECT btml.sumprod_agg(ARRAY[x, y], CASE WHEN x < 5 THEN 'min_plus' ELSE 'max_plus' END) FROM many;
\set SHOW_CONTEXT errors
SELECT g, btml.sumprod_agg(ARRAY[x, y], 'or_and') AS o, btml.sumprod_agg(ARRAY[x, y]) = sum(x * y) AS same FROM many GROUP BY g ORDER BY g;
SELECT btml.sumprod('SELECT x, y FROM many'), btml.sumprod('SELECT s FROM (SELECT sum(x * y) AS s FROM many) q');
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- Its support functions are anybody's to call.
SELECT btml_internal.sumprod_accumulate(NULL, '{2,3}'), btml_internal.sumprod_accumulate('{0,1}', '{2,3}'),
    btml_internal.sumprod_accumulate('{0,1}', NULL), btml_internal.sumprod_accumulate(NULL, NULL),
    btml_internal.sumprod_accumulate('{3,1}', '{2,3}', 'max_plus');
SELECT btml_internal.sumprod_combine('{0,1}', '{0,2}'), btml_internal.sumprod_combine(NULL, '{0,2}'),
    btml_internal.sumprod_combine('{0,1}', NULL), btml_internal.sumprod_combine(NULL, NULL);
SELECT btml_internal.sumprod_final('{0,5}'), btml_internal.sumprod_final(NULL), btml_internal.sumprod_final('{4,-Infinity}'),
    btml_internal.sumprod_final('{0,NaN}');
SELECT btml_internal.sumprod_combine('{0,1}', '{1,2}');
SELECT btml_internal.sumprod_accumulate('{2,1}', '{2,3}');
\set VERBOSITY terse
SELECT btml_internal.sumprod_final('{}');
SELECT btml_internal.sumprod_final('{0}');
SELECT btml_internal.sumprod_final('{0,1,2}');
SELECT btml_internal.sumprod_final('{5,1}');
SELECT btml_internal.sumprod_final('{-1,1}');
SELECT btml_internal.sumprod_final('{0.5,1}');
SELECT btml_internal.sumprod_final('{NaN,1}');
SELECT btml_internal.sumprod_final('{Infinity,1}');
SELECT btml_internal.sumprod_final('{NULL,1}');
SELECT btml_internal.sumprod_final('{0,NULL}');
SELECT btml_internal.sumprod_final('{{0,1}}');
SELECT btml_internal.sumprod_combine('{0,1}', '{1e300,2}');
SELECT btml_internal.sumprod_accumulate('{9,1}', '{2,3}');
DROP TABLE kinds;

DROP SCHEMA sumprod CASCADE;

-- Counts by group are exact or refused.
SELECT * FROM btml.sumprod_by('SELECT a.a
    FROM (VALUES (1), (2)) a(a), generate_series(1, 2000000) b, generate_series(1, 2000000) c, generate_series(1, 3000) d',
    '{a}') AS t(a int, value float8);
SELECT * FROM btml.sumprod_by('SELECT a.a FROM (VALUES (1), (2)) a(a), generate_series(1, 1000) b, generate_series(1, 1000) c',
    '{a}') AS t(a int, value float8) ORDER BY a;
SELECT * FROM btml.sumprod_by('SELECT a.g
    FROM (VALUES (1, 1), (1, 2), (1, 3)) a(g, x), generate_series(1, 2000000) b, generate_series(1, 2000000) c, generate_series(1,
        1000) d', '{g}') AS t(g int, value float8);
