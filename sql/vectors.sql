-- Columns of arrays, and of types with a cast to one, are as many features as their arrays are long.
-- As another session prints them.
SET extra_float_digits = 1;
-- A type as pgvector's is, with a cast of three arguments to real[].
SET client_min_messages = warning;
CREATE TYPE vec;
CREATE FUNCTION vec_in(cstring) RETURNS vec IMMUTABLE STRICT LANGUAGE internal AS 'textin';
CREATE FUNCTION vec_out(vec) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'textout';
RESET client_min_messages;
CREATE TYPE vec (INPUT = vec_in, OUTPUT = vec_out, LIKE = text);
CREATE CAST (text AS vec) WITHOUT FUNCTION;
CREATE CAST (vec AS text) WITHOUT FUNCTION;
CREATE FUNCTION vec_to_real(vec, integer, boolean) RETURNS real[] IMMUTABLE STRICT LANGUAGE sql
    AS $$SELECT translate($1::text, '[]', '{}')::real[]$$;
CREATE CAST (vec AS real[]) WITH FUNCTION vec_to_real(vec, integer, boolean) AS ASSIGNMENT;

-- The same rows with vectors, with values of that type, and with a column for each element in the same place.
CREATE FUNCTION z(seed int, i int, e int) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT sin(seed * 17 + i * e * 1.7 + e)';
CREATE TABLE vectors (id int, a float8, e real[], n numeric[], kind text, held boolean, fold int, w int, y float8);
CREATE VIEW columns AS SELECT id, a, e[1] AS e1, e[2] AS e2, e[3] AS e3, n[1] AS n1, n[2] AS n2, kind, held, fold, w, y FROM vectors;
CREATE VIEW casts AS SELECT id, a, translate(e::text, '{}', '[]')::vec AS e, n, kind, held, fold, w, y FROM vectors;
CREATE FUNCTION fill(seed int, rows int) RETURNS void LANGUAGE sql AS $$
    TRUNCATE vectors;
    INSERT INTO vectors SELECT i, z(seed, i, 1), CASE WHEN i % 11 > 0 THEN ARRAY[z(seed, i, 2), z(seed, i, 3),
            CASE WHEN i % 7 > 0 THEN z(seed, i, 4) END]::real[] END,
        ARRAY[i % 5, z(seed, i, 5) * 10]::numeric[], 'k' || i % 3, z(seed, i, 6) > 0.6, i % 4, 1 + i % 3,
        z(seed, i, 1) + z(seed, i, 2) * 2 - z(seed, i, 3) + (i % 5) / 4.0 + (i % 3)
    FROM generate_series(1, rows) i;
$$;

-- How many predictions differ between two sources, of records and of arrays, and how many values there are.
CREATE FUNCTION compare(seed int, fit text, target text, options text, extra text, one text, other text, OUT record bigint, OUT flat bigint,
    OUT predictions bigint) LANGUAGE plpgsql AS $$
DECLARE of_one btml.model; of_other btml.model; source text = 'SELECT %s, kind%s, %s AS y FROM %s';
BEGIN
    PERFORM fill(seed, 200);
    EXECUTE format('SELECT btml.%s(%L, ''y'', %s)', fit, format(source, 'a, e, n', extra, target, one), options) INTO of_one;
    EXECUTE format('SELECT btml.%s(%L, ''y'', %s)', fit, format(source, 'a, e1, e2, e3, n1, n2', extra, target, other), options)
        INTO of_other;
    EXECUTE format('SELECT count(*) FILTER (WHERE btml.predict($1, o) IS DISTINCT FROM btml.predict($2, c)),
            count(*) FILTER (WHERE btml.predict($1, ARRAY[a, e1, e2, e3, n1, n2, right(c.kind, 1)::int])
                IS DISTINCT FROM btml.predict($2, c)), count(DISTINCT btml.predict($2, c))
        FROM %s o JOIN %s c USING (id, a)', one, other) INTO record, flat, predictions USING of_one, of_other;
END$$;
SELECT seed, fit, options, extra, one, c.* FROM generate_series(1, 2) seed, (VALUES
    ('boost_fit', 'y', 'trees => 20', '', 'vectors'),
    ('boost_fit', 'y', 'trees => 20', '', 'casts'),
    ('boost_fit', 'y', $$trees => 20, objective => 'quantile', alpha => 0.8, weight => 'w'$$, ', w', 'vectors'),
    ('boost_fit', 'y > 1', $$trees => 20, max_bins => 7, holdout => 'held', early_stopping => 5$$, ', held', 'vectors'),
    ('boost_fit', 'round(y + 5)', $$trees => 20, objective => 'poisson', holdout_fraction => 0.3$$, '', 'vectors'),
    ('boost_fit', 'y', $$trees => 20, strategy => 'sample', sample_rows => 100$$, '', 'vectors'),
    ('boost_fit', 'y', $$trees => 20, feature_fraction => 0.5, row_fraction => 0.5$$, '', 'vectors'),
    ('tree_fit', 'y', 'max_bins => 0', '', 'vectors'),
    ('linear_fit', 'y', $$std_error => 'robust'$$, '', 'vectors'),
    ('linear_fit', 'y', 'penalty => 0.1, l1_ratio => 0.5', '', 'casts'),
    ('linear_fit', 'y > 1', $$family => 'binomial', penalty => 0.01$$, '', 'vectors'),
    ('linear_fit', 'round(y + 5)', $$family => 'poisson', weight => 'w'$$, ', w', 'vectors'),
    ('gp_fit', 'y', $$kernel => 'matern52', exemplars => 30$$, '', 'vectors'),
    ('gp_fit', 'y', $$kernel => 'gaussian', exemplars => 30, holdout => 'held'$$, ', held', 'casts'),
    ('gp_fit', 'y', $$combine => 'mixture', members => 2, evaluations => 40$$, '', 'vectors')
    ) t(fit, target, options, extra, one), compare(seed, fit, target, options, extra, one, 'columns') c
ORDER BY seed, 2, 3, 5;

-- Elements stay in their table of a join, and are NULL, or what the expression is, in a row without a match.
CREATE TABLE item AS SELECT k, CASE WHEN k <> 3 THEN ARRAY[z(1, k, 1), z(1, k, 2)] END AS e FROM generate_series(1, 12) k;
CREATE TABLE sale AS SELECT i AS id, i % 15 AS k, z(2, i, 1) AS x, z(1, i % 15, 1) * 3 + z(2, i, 1) AS y FROM generate_series(1, 300) i;
CREATE FUNCTION compare_join(fit text, join_text text, options text, vector text, OUT differ bigint, OUT predictions bigint)
    LANGUAGE plpgsql AS $$
DECLARE of_one btml.model; of_other btml.model; source text = 'SELECT x, %s, y FROM sale ' || join_text || ' item USING (k)';
    elements text = format('(%s)[1] AS e1, (%1$s)[2] AS e2', vector);
BEGIN
    EXECUTE format('SELECT btml.%s(%L, ''y'', %s)', fit, format(source, vector || ' AS e'), options) INTO of_one;
    EXECUTE format('SELECT btml.%s(%L, ''y'', %s)', fit, format(source, elements), options) INTO of_other;
    EXECUTE format('SELECT count(*) FILTER (WHERE btml.predict($1, o) IS DISTINCT FROM btml.predict($2, o)),
            count(DISTINCT btml.predict($1, o))
        FROM (SELECT x, %s AS e, %s FROM sale %s item USING (k)) o', vector, elements, join_text)
        INTO differ, predictions USING of_one, of_other;
END$$;
SELECT fit, j, options, vector, c.* FROM (VALUES ('boost_fit', $$strategy => 'enumerate'$$), ('boost_fit', $$strategy => 'factorize'$$),
        ('boost_fit', $$strategy => 'factorize', residuals => 'sketch'$$), ('boost_fit', $$strategy => 'sample', sample_rows => 100$$),
        ('linear_fit', $$penalty => 0.1$$), ('gp_fit', $$kernel => 'matern32', exemplars => 20$$)) f(fit, options),
    (VALUES ('JOIN', 'e'), ('LEFT JOIN', 'e'), ('LEFT JOIN', $$coalesce(e, '{0.5,-2}')$$)) v(j, vector),
    compare_join(fit, j, options, vector) c;

-- A source's parameters are in their place, and a domain is its base type.
CREATE DOMAIN direction AS real[] CHECK (array_length(VALUE, 1) = 3);
SELECT fill(3, 150);
SELECT btml.feature_names(btml.boost_fit('SELECT e::direction AS e, n[1:$1] AS n, y FROM vectors WHERE id <> $2', 'y',
    trees => 1, args => '{1,7}'));
CREATE VIEW directed AS SELECT y, e::direction AS e FROM vectors;
SELECT fit, abs(btml.predict(model, d) - btml.predict(model, e::float8[])) < 1e-12 AS same, explained.value
FROM (SELECT * FROM directed WHERE e IS NOT NULL ORDER BY y LIMIT 1) AS d,
    (VALUES ('linear_fit', btml.linear_fit('directed', 'y')), ('boost_fit', btml.boost_fit('directed', 'y', trees => 3))) f(fit, model),
    btml.explain(model, d) explained WHERE explained.feature = 'e';

-- The order of rows and the number of threads change nothing.
CREATE FUNCTION fits(source text) RETURNS text LANGUAGE sql AS $$SELECT md5(btml.boost_fit(source, 'y', trees => 5)::bytea) ||
    md5(btml.linear_fit(source, 'y')::bytea) || md5(btml.gp_fit(source, 'y', kernel => 'matern52', exemplars => 20)::bytea)$$;
SET client_min_messages = warning;
SELECT fits('SELECT a, e, n, y FROM vectors') AS fits \gset
SET btml.threads = 1;
SELECT :'fits' = fits('SELECT a, e, n, y FROM vectors') AS same_by_one_thread,
    :'fits' = fits('SELECT a, e, n, y FROM vectors ORDER BY md5(id::text)') AS same_in_another_order;
RESET btml.threads;
RESET client_min_messages;

-- What is told of a model is of columns, unless elements are asked for.
CREATE TABLE fitted AS SELECT btml.boost_fit('SELECT a, e, n, kind, y FROM vectors', 'y', trees => 10) AS trees,
    btml.linear_fit('SELECT a, e, n, kind, y FROM vectors', 'y') AS linear,
    btml.gp_fit('SELECT a, e, n, kind, y FROM vectors', 'y', kernel => 'gaussian', exemplars => 20) AS gp;
SELECT btml.describe(trees), btml.feature_names(trees) FROM fitted;
SELECT btml.summary(linear)->'features' AS features FROM fitted;
SELECT feature, missing, estimate IS NOT NULL AS has_estimate FROM fitted, btml.coefficients(linear);
SELECT x.feature, value, round(contribution::numeric, 6) AS contribution FROM fitted, vectors v, btml.explain(trees, v) x WHERE id = 5;
SELECT x.feature, value FROM fitted, vectors v, btml.explain(linear, v, elements => true) x WHERE id IN (5, 7) ORDER BY id, 1;
SELECT x.feature, value FROM fitted, btml.explain(trees, ARRAY[0.5, 1, NULL, 3, 0, 0.25, 2]) x;
-- Contributions of elements, and interactions, add up to those of their columns.
CREATE FUNCTION column_of(feature text) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT regexp_replace(feature, '\[\d+\]$', '')$$;
SELECT count(*), max(abs(c.contribution - e.contribution)) < 1e-12 AS same FROM fitted, vectors v, btml.explain(trees, v) c,
    LATERAL (SELECT sum(x.contribution) AS contribution FROM btml.explain(trees, v, elements => true) x
        WHERE column_of(x.feature) = c.feature) e;
SELECT count(*), max(abs(c.contribution - s.contribution)) < 1e-12 AS same
FROM fitted, vectors v, btml.explain(trees, v, elements => true) c,
    LATERAL (SELECT contribution FROM unnest(btml.shap(trees, v), btml.feature_names(trees) || '(base)'::text) AS s(contribution, feature)
        WHERE s.feature = c.feature) s;
SELECT count(*), max(abs(c.contribution - e.contribution)) < 1e-12 AS same FROM fitted, vectors v, btml.shap_interactions(trees, v) c,
    LATERAL (SELECT sum(x.contribution) AS contribution FROM btml.shap_interactions(trees, v, elements => true) x
        WHERE column_of(x.feature) = c.feature AND column_of(x.other) = c.other) e WHERE id < 5;
SELECT feature, splits > 0 AS is_split FROM fitted, btml.feature_importance(trees) ORDER BY 1;
SELECT sum(abs(c.gain - e.gain)) < 1e-9 AS same, sum(c.splits - e.splits) AS difference FROM fitted, btml.feature_importance(trees) c,
    LATERAL (SELECT sum(x.gain) AS gain, sum(x.splits) AS splits FROM btml.feature_importance(trees, elements => true) x
        WHERE column_of(x.feature) = c.feature) e;
SELECT count(*) FILTER (WHERE NOT elements), count(*) FILTER (WHERE elements) AS of_elements
FROM fitted, (VALUES (false), (true)) e(elements), btml.gp_relevance(gp, elements);
-- The magnitude of a column's contribution is that of the sum; elements that change places apart lose more or less.
SELECT s.feature, abs(mean_absolute - e.mean) < 1e-12 AS same FROM fitted, btml.shap_importance(trees, 'vectors') s,
    LATERAL (SELECT avg(abs(contribution)) AS mean FROM vectors v, btml.explain(trees, v) x WHERE x.feature = s.feature) e;
SELECT elements, array_agg(feature ORDER BY feature) AS features FROM fitted, (VALUES (false), (true)) e(elements),
    LATERAL (SELECT feature FROM btml.shap_importance(trees, 'vectors', elements => elements)) s GROUP BY 1;
SELECT model, elements, array_agg(feature ORDER BY feature) AS features, max(importance) > 0 AS is_worth
FROM fitted, LATERAL (VALUES ('trees', trees), ('linear', linear), ('gp', gp)) m(model, of_kind), (VALUES (false), (true)) e(elements),
    LATERAL (SELECT feature, importance FROM btml.permutation_importance(of_kind, 'vectors', 'y', repeats => 1, elements => elements)) s
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT p.value, p.number = p.value::real AS same, p.mean IS NOT NULL AS has_mean
FROM fitted, btml.partial_dependence(trees, 'vectors', 'e[2]', points => 3) p;
SELECT p.number IS NULL AS is_null, count(*) FROM fitted, btml.partial_dependence(gp, 'casts', 'n[2]', points => 4) p GROUP BY 1 ORDER BY 1;

-- As SQL, predictions are the same, of a column of the same type and of one with a cast to it.
CREATE FUNCTION compare_sql(model btml.model, source text, OUT differ bigint, OUT predictions bigint) LANGUAGE plpgsql AS $$BEGIN
    EXECUTE format('SELECT count(*) FILTER (WHERE abs(p - s) < 1e-9 IS NOT TRUE), count(DISTINCT p)
        FROM (SELECT btml.predict($1, v) AS p, %s AS s FROM %s v) x', btml.to_sql(model), source) INTO differ, predictions USING model;
END$$;
SELECT model, source, c.* FROM fitted, LATERAL (VALUES ('trees', trees), ('linear', linear)) m(model, of_kind),
    (VALUES ('vectors'), ('casts')) t(source), compare_sql(of_kind, source) c;
SELECT btml.to_sql(btml.boost_fit('SELECT m AS e, y FROM (SELECT translate(e::text, ''{}'', ''[]'')::vec AS m, y FROM vectors) x', 'y',
    trees => 1, max_leaves => 2));
SELECT btml.to_sql(btml.boost_fit('SELECT e, y FROM vectors', 'y', trees => 1, max_leaves => 2), 'ansi', NULL);

-- Models go to text and back, go on from others, and to LightGBM with names that it allows.
SELECT count(*) FILTER (WHERE btml.predict(trees, v) IS DISTINCT FROM btml.predict(trees::text::btml.model, v)) AS differ
FROM fitted, vectors v;
SELECT count(*) FILTER (WHERE btml.predict(trees, v) IS DISTINCT FROM btml.predict(btml.from_lightgbm(btml.to_lightgbm(trees)),
        ARRAY[a, e[1], e[2], e[3], n[1], n[2], right(kind, 1)::int])) AS differ
FROM fitted, vectors v;
SELECT btml.feature_names(btml.from_lightgbm(btml.to_lightgbm(trees))) FROM fitted;
SELECT count(*) FILTER (WHERE btml.predict(whole, v) IS DISTINCT FROM btml.predict(warm, v)) AS differ FROM vectors v, (SELECT
    btml.boost_fit('SELECT a, e, n, kind, y FROM vectors', 'y', trees => 20) AS whole,
    btml.boost_fit('SELECT a, e, n, kind, y FROM vectors', 'y', trees => 10, start => trees) AS warm FROM fitted) f;
SELECT btml.boost_fit('SELECT a, e[1:2] AS e, n, kind, y FROM vectors', 'y', start => trees) FROM fitted;

-- Validation is of the same folds and rows.
SELECT method, count(*) AS folds, bool_and(v.value = c.value) AS same FROM (VALUES ('boost', '{"trees": 10}'), ('linear', '{}'),
        ('gp', '{"kernel": "matern52", "exemplars": 20}')) m(method, options),
    btml.cross_validate('SELECT a, e, n, fold, y FROM vectors', 'y', fold => 'fold', method => method, options => options::btml.json) v
    JOIN btml.cross_validate('SELECT a, e1, e2, e3, n1, n2, fold, y FROM columns', 'y', fold => 'fold', method => method,
        options => options::btml.json) c USING (fold) GROUP BY 1 ORDER BY 1;
SELECT v.trial, v.score = c.score AS same
FROM btml.tune('SELECT a, e, n, y FROM vectors', 'y', '{"max_leaves": [4, 8]}', options => '{"trees": 10}') v
    JOIN btml.tune('SELECT a, e1, e2, e3, n1, n2, y FROM columns', 'y', '{"max_leaves": [4, 8]}',
        options => '{"trees": 10}') c USING (trial);

-- Each bad input has one error.
CREATE TABLE bad (id int, e float8[], y float8);
CREATE FUNCTION try(fit text, rows text, more text DEFAULT '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text; hint text;
BEGIN
    TRUNCATE bad;
    EXECUTE 'INSERT INTO bad SELECT i, e, i FROM (VALUES ' || rows || ') v(i, e)';
    EXECUTE format('SELECT btml.%s(''SELECT e, y FROM bad'', ''y'' %s)', fit, more);
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', sqlstate, message, nullif(detail, ''), nullif(hint, ''));
END$$;
SELECT fit, try(fit, $$(1, '{1,2}'::float8[]), (2, NULL), (3, '{1,2,3}')$$) FROM (VALUES ('boost_fit'), ('linear_fit'), ('gp_fit')) f(fit);
SELECT try('boost_fit', $$(1, '{1,2}'::float8[]), (2, '{}')$$);
SELECT try('boost_fit', $$(1, '{{1,2},{3,4}}'::float8[]), (2, '{1,2}')$$);
SELECT try('boost_fit', $$(1, '[0:1]={1,2}'::float8[])$$);
SELECT fit, try(fit, $$(1, NULL::float8[]), (2, NULL)$$) FROM (VALUES ('boost_fit'), ('linear_fit'), ('gp_fit')) f(fit);
SELECT try('boost_fit', $$(1, NULL::float8[])$$, $$, features => '{y}'$$);
SELECT btml.boost_fit('SELECT e, y FROM bad WHERE false', 'y');
SELECT try('boost_fit', $$(1, '{1,2}'::float8[])$$, ', min_leaf_rows => 1, trees => 1');
SELECT try('boost_fit', $$(1, '{NULL,NULL}'::float8[]), (2, '{NULL,NULL}')$$, ', min_leaf_rows => 1, trees => 1');
SELECT btml.boost_fit('SELECT e, e[1] AS "e[1]", y FROM vectors', 'y');
SELECT btml.boost_fit('SELECT e, y FROM vectors', 'e');
SELECT btml.linear_fit('SELECT array_fill(a, ''{12000}'') AS e, y FROM vectors LIMIT 3', 'y');
SELECT btml.linear_fit('SELECT a, e, y FROM vectors', 'y', weight => 'e');
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', "offset" => 'e');
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', holdout => 'e');
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', order_by => 'e', holdout_fraction => 0.5);
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', group_by => 'e', holdout_fraction => 0.5);
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', objective => 'rank', query => 'e');
SELECT * FROM btml.cross_validate('SELECT a, e, y FROM vectors', 'y', fold => 'e');
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', increasing => '{e}', decreasing => '{e}');
SELECT btml.linear_fit('SELECT e, ARRAY[''NaN'', a] AS odd, y FROM vectors', 'y');
SELECT btml.boost_fit('SELECT a, e, y FROM vectors', 'y', features => '{e[1]}');
SELECT btml.boost_fit('SELECT a, ARRAY[id::text] AS e, y FROM vectors', 'y');
SELECT btml.boost_fit('SELECT a, point(a, a) AS e, y FROM vectors', 'y');
SELECT btml.boost_fit('SELECT a, e, y FROM casts', 'y', strategy => 'distributed');
SET btml.memory_limit = '256kB';
DO $$
DECLARE detail text;
BEGIN
    PERFORM btml.boost_fit('SELECT array_fill(i::float8, ''{50}'') AS e, i AS y FROM generate_series(1, 3000) i', 'y');
EXCEPTION WHEN out_of_memory THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RAISE NOTICE '%', detail;
END $$;
RESET btml.memory_limit;
-- As categories, arrays of integers are texts; all elements have the direction of their column.
SELECT btml.boost_fit('SELECT a, n, y FROM vectors', 'y', categorical => '{n}', trees => 1);
SELECT btml.feature_names(btml.boost_fit('SELECT a, n::int[] AS n, y FROM vectors', 'y', categorical => '{n}', trees => 1));
SELECT jsonb_path_query_array(btml.summary(btml.boost_fit('SELECT a, n, y FROM vectors', 'y', increasing => '{n}', trees => 1)),
    '$.features[*].direction');

-- A record's array has the model's length, and another type of numbers may come for it.
SELECT btml.predict(trees, x) = btml.predict(trees, v) AS same FROM fitted, vectors v,
    LATERAL (SELECT v.a, v.e::float8[] AS e, v.n::real[]::numeric[] AS n, v.kind) x WHERE id = 5;
SELECT btml.predict(trees, x) FROM fitted, (SELECT 1.0 AS a, '{1,2}'::real[] AS e, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, x) FROM fitted, (SELECT 1.0 AS a, '{}'::real[] AS e, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, x) FROM fitted, (SELECT 1.0 AS a, '{{1,2,3}}'::real[] AS e, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, x) FROM fitted, (SELECT 1.0 AS a, 2 AS e, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, x) FROM fitted, (SELECT '{1}'::real[] AS a, '{1,2,3}'::real[] AS e, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, x) FROM fitted, (SELECT 1.0 AS a, '{1,2}'::real[] AS n, 'k1' AS kind) x;
SELECT btml.predict(trees, ARRAY[1, 2]) FROM fitted;
SELECT * FROM fitted, btml.feature_importance(trees, NULL);
SELECT * FROM fitted, btml.permutation_importance(trees, 'SELECT a, e[1:2] AS e, n, kind, y FROM vectors', 'y');
SELECT * FROM fitted, btml.partial_dependence(trees, 'vectors', 'e');
-- Of points without any array, the length is the model's.
SELECT count(DISTINCT id) AS rows FROM fitted, btml.gp_sample(gp, 'SELECT id, a, NULL::real[] AS e, n, kind FROM vectors LIMIT 3');

-- A cast whose function belongs to somebody else is not taken.
CREATE ROLE regress_vectors_other;
CREATE ROLE regress_vectors;
GRANT ALL ON SCHEMA public TO regress_vectors_other;
GRANT SELECT ON vectors, casts TO regress_vectors;
GRANT USAGE ON SCHEMA btml TO regress_vectors;
ALTER FUNCTION vec_to_real(vec, integer, boolean) OWNER TO regress_vectors_other;
SET ROLE regress_vectors;
SELECT btml.linear_fit('SELECT a, e, y FROM casts', 'y');
SELECT btml.describe(btml.linear_fit('SELECT a, e::real[] AS e, y FROM casts', 'y'));
RESET ROLE;
ALTER FUNCTION vec_to_real(vec, integer, boolean) OWNER TO CURRENT_USER;
DROP OWNED BY regress_vectors, regress_vectors_other;
DROP ROLE regress_vectors, regress_vectors_other;
