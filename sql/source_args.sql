-- Parameters of sources: $1, $2 … in the text of a source, whose values are args.
CREATE SCHEMA source_args;
SET search_path = source_args;
SET datestyle = 'ISO';
SET extra_float_digits = 0;
SET client_min_messages = warning; -- what fits and scores remark of few rows is tested elsewhere
CREATE TABLE customer (customer_id int PRIMARY KEY, region text, age int);
CREATE TABLE purchase (purchase_id int, customer_id int REFERENCES customer, at timestamp, amount float8, items int);
INSERT INTO customer SELECT i, (ARRAY['north', 'south', 'it''s; --'])[1 + i % 3], 20 + i * 7 % 50 FROM generate_series(1, 60) i;
INSERT INTO purchase SELECT i, 1 + i * 11 % 60, timestamp '2025-01-01' + i * interval '5 hours', 10 + i * 13 % 97, 1 + i % 4
FROM generate_series(1, 900) i;
ANALYZE customer, purchase;
CREATE VIEW buyer AS SELECT c.region, c.age::float8 AS age, p.* FROM purchase p JOIN customer c USING (customer_id);
CREATE TABLE model AS
SELECT btml.boost_fit('SELECT age, items, amount FROM buyer', 'amount', trees => 5) AS trees,
       btml.gp_fit('SELECT age, items, amount FROM buyer WHERE purchase_id <= 80', 'amount', kernel => 'matern52') AS gp,
       btml.relational_features('SELECT customer_id, timestamp ''2025-05-01'' AS as_of FROM customer', as_of => 'as_of') AS plan;

-- Every function of a source has args, and has it last.
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'btml'::regnamespace
AND proargnames[:pronargs] && ARRAY['source', 'keys'] AND prokind = 'f'
AND (proargnames[pronargs] <> 'args' OR proargtypes[pronargs - 1] <> 'text[]'::regtype);

-- A call says the same with args as with literals. {s: columns} is a source of these columns, {q: columns} another.
CREATE TABLE call (name text, sql text);
INSERT INTO call VALUES
    ('explain_join', 'btml.explain_join({s: FROM})'),
    ('sumprod', 'btml.sumprod({s: amount, age})'),
    ('sumprod_by', 'btml.sumprod_by({s: region, amount}, ''{region}'') AS t(region text, value float8)'),
    ('sumprod_exact', 'btml.sumprod_exact({s: purchase_id, items})'),
    ('sumprod_exact_by', 'btml.sumprod_exact_by({s: region, items}, ''{region}'') AS t(region text, value numeric)'),
    ('sample_join', 'btml.sample_join({s: age, amount}, 10) AS t(age float8, amount float8)'),
    ('sketch_norm', 'btml.sketch_norm({s: amount}, ''amount'', sketch_size => 64)'),
    ('boost_fit', 'btml.boost_fit({s: age, items, amount}, ''amount'', trees => 5)'),
    ('tree_fit', 'btml.tree_fit({s: age, items, amount}, ''amount'')'),
    ('cross_validate', 'btml.cross_validate({s: age, items, amount}, ''amount'', folds => 2, options => ''{"trees": 3}'')'),
    ('tune', 'btml.tune({s: age, items, amount}, ''amount'', ''{"trees": [2, 4]}'', trials => 2, folds => 2)'),
    ('shap_importance', 'model, btml.shap_importance(trees, {s: age, items})'),
    ('partial_dependence', 'model, btml.partial_dependence(trees, {s: age, items}, ''age'', points => 3)'),
    ('permutation_importance', 'model, btml.permutation_importance(trees, {s: age, items, amount}, ''amount'', repeats => 2)'),
    ('relational_features', 'btml.relational_features({s: customer_id, at, amount}, as_of => ''at'', max_depth => 1)'),
    ('relational_features of a target', 'btml.relational_features({s: customer_id, at, amount}, target => ''amount'',
        as_of => ''at'', max_depth => 1, max_features => 3)'),
    ('linear_fit', 'btml.linear_fit({s: age, items, amount}, ''amount'')'),
    ('gp_fit', 'btml.gp_fit({s: age, items, amount}, ''amount'', evaluations => 3)'),
    ('gp_fit_members', 'btml.gp_fit_members({s: age, items, amount}, ''amount'', members => 2, evaluations => 2)'),
    ('gp_regression', 'btml.gp_regression({s: age, items, amount}, ''amount'', {q: purchase_id AS id, age, items}, evaluations => 2)'),
    ('gp_regression of ids', 'btml.gp_regression(NULL::int, {s: age, items, amount}, ''amount'',
        {q: purchase_id AS id, age, items}, evaluations => 2)'),
    ('gp_fit with exemplars', 'btml.gp_fit({s: age, items, amount}, ''amount'', kernel => ''matern52'',
        exemplar_source => {q: age, items})'),
    ('gp_sample', 'model, btml.gp_sample(gp, {s: age, items})'),
    ('gp_sample of ids', 'model, btml.gp_sample(NULL::int, gp, {s: age, items, purchase_id AS id})'),
    ('kernel_sum', 'btml.kernel_sum({s: age}, {q: age}, 3)'),
    ('kernel_sum of ids', 'btml.kernel_sum(NULL::int, {s: age}, {q: age, purchase_id AS id}, 3)'),
    ('density', 'btml.density({s: age}, {q: age}, 3)'),
    ('density of ids', 'btml.density(NULL::int, {s: age}, {q: age, purchase_id AS id}, 3)'),
    ('kernel_regression', 'btml.kernel_regression({s: age, amount}, ''amount'', {q: age}, 3)'),
    ('kernel_regression of ids', 'btml.kernel_regression(NULL::int, {s: age, amount}, ''amount'', {q: age, purchase_id AS id}, 3)'),
    ('attention', 'btml.attention({s: age / 100 AS age, amount}, {q: age / 100 AS age}, ''amount'')'),
    ('attention of ids', 'btml.attention(NULL::int, {s: age / 100 AS age, amount},
        {q: age / 100 AS age, purchase_id AS id}, ''amount'')'),
    ('kernel_tail_ratio', 'btml.kernel_tail_ratio({s: age}, {q: age}, 3)'),
    ('kernel_tail_profile', 'btml.kernel_tail_profile({s: age}, {q: age}, 3)'),
    ('kde_score', 'btml.kde_score({s: age}, 3)'),
    ('likelihood_score', 'btml.likelihood_score({s: age}, 3)'),
    ('kr_score', 'btml.kr_score({s: age, amount}, ''amount'', 3)'),
    ('kcde_score', 'btml.kcde_score({s: age, amount}, ''amount'', 3, 5)'),
    ('select_bandwidth', 'btml.select_bandwidth({s: age}, ''kde'', steps => 3)'),
    ('approx_sum', 'btml.approx_sum({s: amount})'),
    ('exemplars', 'btml.exemplars({s: age, items}, 3)'),
    ('exemplars of ids', 'btml.exemplars(NULL::int, {s: age, items, purchase_id AS id}, 3)'),
    ('plot', 'btml.plot({s: age AS x, amount AS y}, ''point'')');

-- What a call returns but for times, sorted: its sources have either literals or parameters.
CREATE FUNCTION returned(call text, with_args boolean) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    condition text := CASE WHEN with_args THEN 'region = $1 AND amount < $2' ELSE 'region = ''it''''s; --'' AND amount < ''90''' END;
    other text := CASE WHEN with_args THEN 'purchase_id <= $3' ELSE 'purchase_id <= ''7''' END;
    source text := regexp_replace((regexp_match(call, '\{s: ([^}]*)\}'))[1], '^FROM$', '');
    query text := (regexp_match(call, '\{q: ([^}]*)\}'))[1];
    result text[];
BEGIN
    call := regexp_replace(call, '\{s: [^}]*\}', quote_literal(format('SELECT %s FROM buyer WHERE %s', source, condition)));
    call := regexp_replace(call, '\{q: [^}]*\}', quote_literal(format('SELECT %s FROM buyer WHERE %s', query, other)));
    IF with_args THEN
        -- The last parenthesis before a column list closes the call.
        call := regexp_replace(call, '\)( AS t\([^)]*\))?$', format(', args => %L)\1', '{"it''s; --",90' ||
            CASE WHEN query IS NULL THEN '' ELSE ',7' END || '}'));
    END IF;
    EXECUTE format('SELECT array_agg((to_jsonb(t) - ''seconds'')::text ORDER BY t::text) FROM (SELECT * FROM %s) t', call) INTO result;
    RETURN result;
END $$;
SELECT name FROM call WHERE returned(sql, true) IS DISTINCT FROM returned(sql, false) OR returned(sql, true) IS NULL;
-- They are all functions of a source but one, which follows.
SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'btml'::regnamespace AND proargnames @> '{args}'
EXCEPT SELECT split_part(name, ' ', 1) FROM call;

-- The SELECT of features has the values as literals, which PostgreSQL quotes.
SELECT btml.feature_sql(plan, 'SELECT customer_id, $2::timestamp AS as_of FROM customer WHERE region = $1',
    args => ARRAY['it''s; --', '2025-06-01']) AS features FROM model \gset
SELECT substring(:'features' FROM 'SELECT customer_id, [^\n]*');
SELECT count(*) FROM (:features) t;
SELECT btml.sumprod(:'features' || ' OFFSET 0', args => '{}') IS NOT NULL;

-- Whatever a value is, it is data.
CREATE TABLE note (note_id int, body text);
INSERT INTO note SELECT row_number() OVER (), body FROM unnest(ARRAY['''; DROP TABLE note; --', '$1', '$2 $$ $x$', '/* */ "',
    E'\\', E'\\''; SELECT 1/0', E'new\nline', '', 'NULL', '{"a", b}', repeat('long', 100000), 'ä€𝄞']) AS t(body);
SELECT btml.sumprod('SELECT FROM note WHERE body = $1', args => ARRAY[body]) AS found, count(*) FROM note GROUP BY 1;
SELECT btml.sumprod_exact('SELECT FROM note WHERE body = $1', args => ARRAY[body]) AS found, count(*) FROM note GROUP BY 1;
SET standard_conforming_strings = off;
SELECT btml.sumprod_exact('SELECT FROM note WHERE body = $1', args => ARRAY[body]) AS found, count(*) FROM note GROUP BY 1;
RESET standard_conforming_strings;
-- What stands in quotes is no parameter.
CREATE TABLE odd ("$1" int, price float8);
INSERT INTO odd VALUES (1, 2), (2, 3);
SELECT btml.sumprod_exact('SELECT "$1" AS "a$2" FROM odd WHERE price > $1 AND ''$2'' <> $$ $3 $$ /* $4 */ -- $5',
    args => '{2.5}');
SELECT btml.sumprod('SELECT price FROM odd WHERE ''$1'' = $1', args => '{$1}');
SELECT btml.sumprod_exact(E';/* ä€ $9 */ SELECT "$1" AS n /* 𝄞 */ FROM odd WHERE ''é'' < ''ö'' AND price > $1 ; -- $2\n;',
    args => '{2.5}');
-- Texts of characters that mean something in SQL, by two ways: one reads constants, the other a text with them.
CREATE FUNCTION odd_text(seed int) RETURNS text LANGUAGE sql AS $$
    SELECT coalesce(string_agg(substr(E'''''"\\$1;-*/{}, \nEe%_:', 1 + abs(hashint4(seed * 31 + i)) % 22, 1), '' ORDER BY i), '')
    FROM generate_series(1, seed % 13) i
$$;
SELECT count(DISTINCT a || b) > 450 AS many, bool_and(btml.sumprod(source, args => args) = 2 * length(a)) AS constants,
    bool_and(btml.sumprod_exact(source, args => args) = 2 * length(a)) AS text
FROM generate_series(1, 500) i, odd_text(i) a, odd_text(i + 1000) b, LATERAL (SELECT ARRAY[b, a || b, a] AS args,
    $$ SELECT CASE WHEN $3||$1 = $2 THEN length($3) END AS n FROM odd WHERE $1 || '$1' <> '' $$ AS source) s;

-- Values are read by the types that the source demands; a parameter may stand wherever a value may.
SELECT btml.sumprod('SELECT items FROM purchase WHERE at >= $1 AND at < $1 + $2 AND items = ANY ($3) AND $4',
    args => '{2025-02-01,2 days,"{1,2}",yes}') AS sum,
    (SELECT sum(items) FROM purchase WHERE at >= '2025-02-01' AND at < '2025-02-03' AND items IN (1, 2)) AS plain;
SELECT btml.sumprod_exact('SELECT n FROM (SELECT items * $1 AS n FROM purchase ORDER BY $1, items * $1 LIMIT $2 OFFSET ($3)) t',
    args => '{-2,5,1}') AS sum,
    (SELECT sum(n) FROM (SELECT items * -2 AS n FROM purchase ORDER BY items * -2 LIMIT 5 OFFSET 1) t) AS plain;
SELECT btml.sumprod_exact('WITH few AS (SELECT * FROM customer WHERE age < $1), more AS MATERIALIZED (SELECT $2::int AS n)
    SELECT few.age, n FROM few, more WHERE EXISTS (SELECT FROM purchase p WHERE p.customer_id = few.customer_id AND p.items > $3)
    AND few.customer_id IN (SELECT customer_id FROM purchase WHERE at < $4::text::timestamp)
    UNION ALL SELECT ($5::int[])[2], $6::int FROM generate_series(1, $7) GROUP BY $6::int ORDER BY 1 FETCH FIRST $8 ROWS ONLY',
    args => '{40,2,3,2025-03-01,"{1,5}",6,3,20}') AS sum;
SELECT btml.sumprod('SELECT FROM customer WHERE region = $1', args => '{NULL}') AS of_null,
    btml.sumprod('SELECT FROM customer WHERE region IS NOT DISTINCT FROM $1', args => '{NULL}') AS of_no_region,
    btml.sumprod_exact('SELECT coalesce($1, $2, 0) AS n FROM odd', args => '{NULL,4}') AS of_four;
CREATE DOMAIN grade AS int NOT NULL CHECK (VALUE < 7);
CREATE TABLE graded (grade grade, note bpchar(4));
INSERT INTO graded VALUES (2, 'ab'), (5, 'abcd');
SELECT btml.sumprod('SELECT grade FROM graded WHERE grade = $1::grade OR note = $2', args => '{5,ab}');
SELECT btml.sumprod_exact('SELECT grade FROM graded WHERE note = $1', args => '{abcd}');

-- A join is factorised as with literals.
SELECT btml.explain_join('SELECT FROM customer c LEFT JOIN purchase p ON c.customer_id = p.customer_id AND p.items = $2 WHERE c.age > $1',
    args => '{60,2}');

-- Inside functions and prepared statements.
CREATE FUNCTION spent(region text, at_least float8) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    RETURN btml.sumprod('SELECT amount FROM buyer WHERE region = $1 AND amount >= $2', args => ARRAY[region, at_least::text]);
END $$;
SELECT region, spent(region, 50), (SELECT sum(amount) FROM buyer b WHERE b.region = c.region AND amount >= 50) AS plain
FROM customer c GROUP BY region ORDER BY region;
CREATE FUNCTION fit(region text) RETURNS btml.model LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT btml.boost_fit('SELECT age, items, amount FROM buyer WHERE region = $1', 'amount', trees => 3, args => ARRAY[region]));
END $$;
SELECT region, btml.summary(fit(region))->'rows' AS rows, count(*) FROM buyer GROUP BY region ORDER BY region;
PREPARE spent(text, float8) AS SELECT btml.sumprod('SELECT amount FROM buyer WHERE region = $1 AND amount >= $2',
    args => ARRAY[$1, $2::text]) = (SELECT sum(amount) FROM buyer WHERE region = $1 AND amount >= $2) AS same;
EXECUTE spent('north', 30);
EXECUTE spent('it''s; --', 50);
SET plan_cache_mode = force_generic_plan;
EXECUTE spent('south', 70);
RESET plan_cache_mode;

-- Errors.
\set VERBOSITY default
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1', args => '{}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $2 AND region = $3', args => '{a,b}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1', args => '{1,2,3}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $2', args => '{1,2}');
SELECT btml.sumprod('SELECT FROM customer', args => '{1}');
SELECT btml.sumprod('customer', args => '{1,2}');
SELECT btml.sumprod('odd', args => '{}');
SELECT btml.kernel_sum('SELECT age FROM customer WHERE region = $1', 'SELECT age FROM customer', 1, args => '{north,south}');
SELECT btml.kernel_sum('SELECT age FROM customer', 'SELECT age FROM customer WHERE region = $2', 1, args => '{north}');
SELECT btml.sumprod('SELECT FROM customer WHERE $1 IS NULL', args => '{1}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1 AND region = $1', args => '{1}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1', args => '{many}');
SELECT btml.sumprod('SELECT FROM graded WHERE $1::grade > $2', args => '{9,1}');
SELECT btml.sumprod('SELECT FROM graded WHERE $1::grade > $2', args => '{NULL,1}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $0', args => '{1}');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $0');
SELECT btml.sumprod('SELECT FROM customer WHERE age = $1', args => '{{1},{2}}');
SELECT btml.sumprod('SELECT FROM $1', args => '{customer}');
SELECT btml.sumprod('SELECT $1 FROM customer', args => '{1}');
SELECT btml.sumprod('SELECT FROM customer WHERE', args => '{1}');
SELECT btml.sumprod('SELECT FROM customer; SELECT $1', args => '{1}');
SELECT btml.sumprod('DELETE FROM customer WHERE age = $1', args => '{1}');
SELECT btml.sumprod('SELECT $1::int AS n INTO TABLE copy', args => '{1}');
SELECT btml.sumprod('WITH gone AS (DELETE FROM customer WHERE age = $1 RETURNING age) SELECT age FROM gone', args => '{1}');
SELECT btml.boost_fit('SELECT age, customer_id FROM customer WHERE age = $1', 'age', options => '{"args": ["1"]}');
\set VERBOSITY terse
