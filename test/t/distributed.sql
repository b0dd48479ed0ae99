-- What 014_distributed.pl asks of tables partitioned over postgres_fdw and test/citus of those of Citus: each
-- statement is run with the tables of schema here, and with those of the same names in schema everywhere, which the caller
-- makes and fills afterwards, with a view. Where everywhere lacks a table, that of here serves both.
CREATE SCHEMA here;
CREATE SCHEMA everywhere;
CREATE TABLE here.sale AS
SELECT i AS id, i % 40 AS shop, i * 7 % 31 AS item, 3 * cos(i) AS price, 'kind ' || i % 4 AS kind,
       sin(i % 40) + i * 7 % 31 / 9.0 + cos(i) + i % 4 AS rating, sin(i % 40) + cos(i) > 0.3 AS good, i % 5 = 0 AS held_out,
       md5(i::text)::uuid AS code
FROM generate_series(1, 4000) i;
CREATE TABLE here.visit AS
SELECT i AS id, i * 11 % 40 AS shop, (ARRAY['web', 'street', 'phone'])[1 + i % 3] AS channel, sqrt(i) AS spend
FROM generate_series(1, 300) i;
CREATE TABLE here.shop AS SELECT i AS shop, i % 17 AS area FROM generate_series(0, 39) i;
CREATE VIEW here.sale_of_shop AS SELECT * FROM here.sale JOIN here.shop USING (shop);
CREATE TABLE here.model AS
SELECT 'boost' AS name, btml.boost_fit('SELECT price, item, rating FROM here.sale', 'rating', trees => 20) AS model
UNION ALL SELECT 'gp', btml.gp_fit('SELECT price, item, rating FROM here.sale', 'rating', evaluations => 20)
UNION ALL SELECT 'classes', btml.boost_fit('SELECT price, item, kind FROM here.sale', 'kind', trees => 5);
CREATE TYPE everywhere.offer AS (price float8, item int);
CREATE TYPE here.offer AS (price float8, item int);

-- pushed: the engines that compute functions of btml where the rows are; NULL where the plan is not looked at. Of a name
-- that begins with "an error" both give the same error, of others none.
CREATE TABLE here.statement (name text PRIMARY KEY, pushed text[], statement text NOT NULL);
INSERT INTO here.statement VALUES
-- Functions of a source.
('boost_fit, enumerate', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, kind, area, rating, held_out FROM sale JOIN shop USING (shop)', 'rating',
    trees => 20, holdout => 'held_out', early_stopping => 5, strategy => 'enumerate')::text) $$),
('boost_fit, factorize', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, spend, channel, area, rating FROM sale JOIN visit USING (shop) JOIN shop USING (shop)', 'rating',
    trees => 3, strategy => 'factorize')::text) $$),
('boost_fit, sample', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, spend, channel, rating FROM sale JOIN visit USING (shop)', 'rating',
    trees => 10, strategy => 'sample', sample_rows => 2000)::text) $$),
('boost_fit, feature_fraction and weight', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, kind, rating, s.id AS weight, spend FROM sale s JOIN visit USING (shop)', 'rating',
    trees => 10, weight => 'weight', feature_fraction => 0.5, strategy => 'enumerate')::text) $$),
('boost_fit, sketched residuals', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, spend, rating FROM sale JOIN visit USING (shop)', 'rating',
    trees => 3, max_leaves => 4, criterion => 'mse_sum', strategy => 'factorize', residuals => 'sketch', sketch_size => 500)::text) $$),
('boost_fit, two labels', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, kind, area, good FROM sale JOIN shop USING (shop)', 'good', trees => 20)::text) $$),
('boost_fit, many labels', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, area, kind FROM sale JOIN shop USING (shop)', 'kind', trees => 5)::text) $$),
('boost_fit, rank', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, kind, shop, id % 3 AS relevance FROM sale', 'relevance', trees => 5, objective => 'rank', query => 'shop')::text) $$),
('boost_fit, left join', '{}', $$ SELECT md5(btml.boost_fit('SELECT s.price, v.spend, v.channel, s.rating FROM sale s LEFT JOIN visit v ON v.shop = s.shop AND v.id < 20', 'rating', trees => 5)::text) $$),
('boost_fit, join off the distribution column', '{}', $$ SELECT md5(btml.boost_fit('SELECT s.price, v.spend, s.rating FROM sale s JOIN visit v ON v.id = s.item', 'rating', trees => 5)::text) $$),
('boost_fit, left join off the distribution column', '{}', $$ SELECT md5(btml.boost_fit('SELECT s.price, v.spend, s.rating FROM sale s LEFT JOIN visit v ON v.id = s.item', 'rating', trees => 5)::text) $$),
('boost_fit, a filter', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, rating FROM sale WHERE shop = 7 AND price > 0', 'rating', trees => 5)::text) $$),
('boost_fit, a view', '{}', $$ SELECT md5(btml.boost_fit('sale_of_shop', 'rating', trees => 5, exclude => '{code}')::text) $$),
('boost_fit, a local table', '{}', $$ SELECT md5(btml.boost_fit('SELECT s.price, h.spend, s.rating FROM sale s JOIN here.visit h USING (shop)', 'rating', trees => 5)::text) $$),
('boost_fit, parameters', '{}', $$ SELECT md5(btml.boost_fit('SELECT price, item, rating FROM sale WHERE shop = $1 AND price > $2', 'rating', trees => 5, args => '{7,0}')::text) $$),
('tree_fit', '{}', $$ SELECT md5(btml.tree_fit('SELECT price, item, kind, rating FROM sale', 'rating')::text) $$),
('gp_fit', '{}', $$ SELECT md5(btml.gp_fit('SELECT price, item, rating FROM sale', 'rating', evaluations => 20)::text) $$),
('gp_fit_members', '{}', $$ SELECT member, log_likelihood, md5(model::text) FROM btml.gp_fit_members('SELECT price, item, rating FROM sale WHERE id < 500', 'rating', members => 3, evaluations => 10) $$),
('relational_features', '{}', $$ SELECT md5((btml.relational_features('SELECT shop, area FROM shop', target => 'area',
    relations => '{"sales": {"table": "sale", "key": {"shop": "shop"}}, "visits": {"table": "visit", "key": {"shop": "shop"}}}') -> 'features')::text) $$),
('boost_fit over features', '{}', $$ SELECT md5(btml.boost_fit(btml.feature_sql(btml.relational_features('SELECT shop FROM shop',
    relations => '{"sales": {"table": "sale", "key": {"shop": "shop"}}, "visits": {"table": "visit", "key": {"shop": "shop"}}}'), 'SELECT shop, area FROM shop'),
    'area', trees => 5, min_leaf_rows => 2)::text) $$),
('gp_regression', '{}', $$ SELECT btml.gp_regression('SELECT price, item, rating FROM sale WHERE id < 300', 'rating', 'SELECT id, price, item FROM sale WHERE id BETWEEN 300 AND 310') $$),
('gp_sample', '{}', $$ SELECT draw, id, value FROM model, btml.gp_sample(model, 'SELECT id, price, item FROM sale WHERE id < 20') WHERE name = 'gp' $$),
('cross_validate', '{}', $$ SELECT fold, rows, metric, value, trees FROM btml.cross_validate('SELECT price, item, kind, rating FROM sale', 'rating', folds => 3, options => '{"trees": 5}') $$),
('tune', '{}', $$ SELECT trial, options, score, std_error, trees, best, folds
    FROM btml.tune('SELECT price, item, rating FROM sale', 'rating', '{"learning_rate": [0.1, 0.3]}', trials => 2, folds => 2, options => '{"trees": 5}') $$),
('sumprod', '{}', $$ SELECT btml.sumprod('SELECT price, area, rating FROM sale JOIN shop USING (shop)') $$),
('sumprod, a count', '{}', $$ SELECT btml.sumprod('SELECT FROM sale JOIN visit USING (shop)') $$),
('sumprod, max_product', '{}', $$ SELECT btml.sumprod('SELECT s.price + 3, v.spend FROM sale s JOIN visit v USING (shop)', 'max_product') $$),
('sumprod_by', '{}', $$ SELECT shop, round(value::numeric, 6) FROM btml.sumprod_by('SELECT s.shop, s.price, v.spend FROM sale s JOIN visit v USING (shop)', '{shop}') AS t(shop int, value float8) $$),
('sumprod, whole numbers', '{}', $$ SELECT btml.sumprod('SELECT s.item, nullif(v.id, 7), -s.id FROM sale s JOIN visit v USING (shop) JOIN shop USING (shop) WHERE area > 3') $$),
('sumprod, whole numbers of one table', '{}', $$ SELECT btml.sumprod('SELECT item, id - 2000 FROM sale') $$),
('sumprod, whole numbers beyond those of a double', '{}', $$ SELECT btml.sumprod('SELECT 1234567890123456 + s.id, v.id FROM sale s JOIN visit v USING (shop)') $$),
('sumprod, min_plus', '{}', $$ SELECT btml.sumprod('SELECT s.price, nullif(v.spend, 1), area, s.rating FROM sale s JOIN visit v USING (shop) JOIN shop USING (shop)', 'min_plus') $$),
('sumprod, or_and', '{}', $$ SELECT btml.sumprod('SELECT s.price, v.id - 7 FROM sale s JOIN visit v USING (shop)', 'or_and') $$),
('sumprod, no rows', '{}', $$ SELECT btml.sumprod('SELECT s.item FROM sale s JOIN visit v USING (shop) WHERE s.id < 0') $$),
('sumprod_by, a count', '{}', $$ SELECT * FROM btml.sumprod_by('SELECT kind FROM sale JOIN visit USING (shop)', '{kind}') AS t(kind text, value float8) $$),
('sumprod_by, max_plus', '{}', $$ SELECT * FROM btml.sumprod_by('SELECT channel, price, spend FROM sale JOIN visit USING (shop)', '{channel}', 'max_plus') AS t(channel text, value float8) $$),
('an error of sumprod', NULL, $$ SELECT btml.sumprod('SELECT s.price, v.spend FROM sale s JOIN visit v USING (shop)', 'mean') $$),
('sumprod_exact', '{}', $$ SELECT btml.sumprod_exact('SELECT s.item, v.id FROM sale s JOIN visit v USING (shop)') $$),
('sumprod_exact_by', '{}', $$ SELECT * FROM btml.sumprod_exact_by('SELECT v.channel, s.item, v.id FROM sale s JOIN visit v USING (shop)', '{channel}') AS t(channel text, value numeric) $$),
('sample_join', '{}', $$ SELECT * FROM btml.sample_join('SELECT s.id, v.channel FROM sale s JOIN visit v USING (shop)', 50) AS t(id int, channel text) $$),
('explain_join', '{}', $$ SELECT count(*) > 3 FROM btml.explain_join('SELECT price, spend, area FROM sale JOIN visit USING (shop) JOIN shop USING (shop)') $$),
('sketch_norm', '{}', $$ SELECT round(value::numeric, 4) FROM btml.sketch_norm('SELECT price FROM sale JOIN visit USING (shop)', 'price', 500) $$),
('kernel_sum', '{}', $$ SELECT btml.kernel_sum('SELECT price, rating FROM sale', 'SELECT id, price, rating FROM sale WHERE id < 20', 0.5) $$),
('kernel_sum, sampled', '{}', $$ SELECT btml.kernel_sum('SELECT price, rating FROM sale ', 'SELECT id, price, rating FROM sale WHERE id < 50', 0.5, method => 'sampled', epsilon => 0.3) $$),
('density', '{}', $$ SELECT btml.density('SELECT price, rating FROM sale WHERE id < 1000', 'SELECT id, price, rating FROM sale WHERE id < 20') $$),
('kernel_regression', '{}', $$ SELECT btml.kernel_regression('SELECT price, item, rating FROM sale', 'rating', 'SELECT id, price, item FROM sale WHERE id < 20', 0.5) $$),
('attention', '{}', $$ SELECT btml.attention('SELECT price, item, rating FROM sale', 'SELECT id, price, item FROM sale WHERE id < 20', 'rating') $$),
('kernel_tail_ratio', '{}', $$ SELECT round(value::numeric, 3) FROM btml.kernel_tail_ratio('SELECT price, rating FROM sale WHERE id < 500', 'SELECT price, rating FROM sale WHERE id < 100', 0.5) $$),
('kernel_tail_profile', '{}', $$ SELECT prefix, tail_ratio >= 0 FROM btml.kernel_tail_profile('SELECT price, rating FROM sale WHERE id <= 100', 'SELECT price, rating FROM sale WHERE id <= 100', 0.5) $$),
('kde_score', '{}', $$ SELECT btml.kde_score('SELECT price, rating FROM sale', 0.5) $$),
('likelihood_score', '{}', $$ SELECT btml.likelihood_score('SELECT price, rating FROM sale', 0.5) $$),
('kr_score', '{}', $$ SELECT btml.kr_score('SELECT price, rating FROM sale', 'rating', 0.5) $$),
('kcde_score', '{}', $$ SELECT btml.kcde_score('SELECT price, rating FROM sale WHERE id < 500', 'rating', 0.5, 0.5) $$),
('select_bandwidth', '{}', $$ SELECT btml.select_bandwidth('SELECT price, rating FROM sale WHERE id < 500', 'kde', steps => 5) $$),
('approx_sum', '{}', $$ SELECT btml.approx_sum('SELECT price FROM sale') $$),
('exemplars, which depend on the order', '{}', $$ SELECT count(*), sum(members) FROM btml.exemplars('SELECT id, price, rating FROM sale', 5) $$),
('exemplars in an order', '{}', $$ SELECT btml.exemplars('SELECT id, price, rating FROM sale ORDER BY id', 5) $$),
('partial_dependence', '{}', $$ SELECT btml.partial_dependence(model, 'SELECT price, item, rating FROM sale', 'price', points => 5) FROM model WHERE name = 'boost' $$),
('permutation_importance', '{}', $$ SELECT btml.permutation_importance(model, 'SELECT price, item, rating FROM sale', 'rating') FROM model WHERE name = 'boost' $$),
('shap_importance', '{}', $$ SELECT btml.shap_importance(model, 'SELECT price, item, rating FROM sale', 100) FROM model WHERE name = 'boost' $$),
('plot', '{}', $$ SELECT md5(btml.plot('SELECT price AS x, rating AS y FROM sale WHERE id < 100 ORDER BY id', 'point')) $$),
-- Aggregates by the distribution column.
('exact_sum by key', '{citus,postgres_fdw}', $$ SELECT shop, btml.exact_sum(price) FROM sale GROUP BY shop $$),
('sumprod_agg by key', '{citus,postgres_fdw}', $$ SELECT shop, round(btml.sumprod_agg(ARRAY[price, rating])::numeric, 6) FROM sale GROUP BY shop $$),
('tensor_sketch_agg by key', '{citus,postgres_fdw}', $$ SELECT shop, (SELECT array_agg(round(s::numeric, 6)) FROM unnest(btml.tensor_sketch_agg(price, ARRAY[kind], 5, 1)) s) FROM sale GROUP BY shop $$),
('kernel_sum_agg by key', '{citus,postgres_fdw}', $$ SELECT shop, btml.kernel_sum_agg(ARRAY[price, rating], 1, '{0,0,1,3}', 0.5) FROM sale GROUP BY shop $$),
('exemplars_agg by key, bigint', '{citus,postgres_fdw}', $$ SELECT shop, btml.exemplars_agg(id, ARRAY[price, rating], 3) FROM sale GROUP BY shop $$),
('exemplars_agg by key, uuid', '{citus,postgres_fdw}', $$ SELECT shop, btml.exemplars_agg(code, ARRAY[price, rating], 3) FROM sale GROUP BY shop $$),
('boost_fit_agg by key', '{citus,postgres_fdw}', $$ SELECT shop, md5(btml.boost_fit_agg(rating, ARRAY[price, item])::text) FROM sale GROUP BY shop $$),
('boost_fit_agg by key, labels', '{citus,postgres_fdw}', $$ SELECT shop, md5(btml.boost_fit_agg(kind, ARRAY[price, item], '{"trees": 3}'::jsonb)::text) FROM sale GROUP BY shop $$),
('gp_fit_agg by key', '{citus,postgres_fdw}', $$ SELECT shop, md5(btml.gp_fit_agg(rating, ARRAY[price, item])::text) FROM sale WHERE shop < 4 GROUP BY shop $$),
('metrics by key', '{citus,postgres_fdw}', $$ SELECT shop, btml.rmse(rating, price), btml.mae(rating, price), btml.r2(rating, price), btml.pinball(rating, price, 0.5), btml.auc(good, price),
    btml.average_precision(good, price), btml.ndcg(item, price, 5), btml.accuracy(good, held_out), btml.coverage(rating, price, price + 1), btml.nll_normal(rating, price, 1),
    btml.crps_normal(rating, price, 1), btml.nll_student_t(rating, price, 1, 5), btml.brier(good, 0.3), btml.log_loss(good, 0.3), btml.poisson_deviance(item, 2) FROM sale GROUP BY shop $$),
('kernel_sum_agg by key with a kernel', '{citus}', $$ SELECT shop, btml.kernel_sum_agg(ARRAY[price, rating], 1, '{0,0,1,3}', 0.5, 'laplacian') FROM sale GROUP BY shop $$),
('a constant beside a column of its type', '{citus,postgres_fdw}', $$ SELECT shop, btml.accuracy(kind, 'kind 1') FROM sale GROUP BY shop $$),
('aggregates with HAVING and FILTER', '{citus,postgres_fdw}', $$ SELECT shop, btml.exact_sum(price) FILTER (WHERE item > 3) FROM sale GROUP BY shop HAVING btml.exact_sum(rating) > 0 $$),
('a factorized aggregate', '{citus}', $$ SELECT channel, sum(s.item * v.id) FROM sale s JOIN visit v USING (shop) WHERE set_config('btml.factorize_aggregates', 'exact', true) <> '' GROUP BY channel $$),
('a co-located join', '{citus}', $$ SELECT s.shop, btml.exact_sum(s.price * v.spend) FROM sale s JOIN visit v USING (shop) GROUP BY s.shop $$),
-- Aggregates of all rows, and by another column.
('exact_sum', '{citus}', $$ SELECT btml.exact_sum(price) FROM sale $$),
('exact_sum of no rows', '{citus}', $$ SELECT btml.exact_sum(price) FROM sale WHERE id < 0 $$),
('exact_sum by kind', '{citus}', $$ SELECT kind, btml.exact_sum(price) FROM sale GROUP BY kind $$),
('sumprod_agg', '{citus}', $$ SELECT round(btml.sumprod_agg(ARRAY[price, rating])::numeric, 6), round(btml.sumprod_agg(ARRAY[price + 3, rating + 3], 'max_product')::numeric, 6) FROM sale $$),
('tensor_sketch_agg', '{citus}', $$ SELECT (SELECT array_agg(round(s::numeric, 6)) FROM unnest(sketch) s) FROM (SELECT btml.tensor_sketch_agg(price, ARRAY[item::text, kind], 50, 1) AS sketch FROM sale) t $$),
('kernel_sum_agg', '{citus}', $$ SELECT btml.kernel_sum_agg(ARRAY[price, rating], 1, '{0,0,1,3}', 0.5) FROM sale $$),
('kernel_sum_agg with a kernel', '{citus}', $$ SELECT kind, btml.kernel_sum_agg(ARRAY[price, rating], item, '{0,0,1,3}', 0.5, 'laplacian') FROM sale GROUP BY kind $$),
('exemplars_agg, bigint', '{citus}', $$ SELECT btml.exemplars_agg(id, ARRAY[price, rating], 3) FROM sale $$),
('exemplars_agg, text', '{citus}', $$ SELECT btml.exemplars_agg('sale ' || id, ARRAY[price, rating], 3) FROM sale WHERE id < 2000 $$),
('exemplars_agg, uuid', '{citus}', $$ SELECT btml.exemplars_agg(code, ARRAY[price, rating], 3) FROM sale WHERE id < 2000 $$),
('exemplars_agg by kind', '{citus}', $$ SELECT kind, btml.exemplars_agg(id, ARRAY[price, rating], 3) FROM sale GROUP BY kind $$),
('boost_fit_agg', '{citus}', $$ SELECT md5(btml.boost_fit_agg(rating, ARRAY[price, item])::text) FROM sale $$),
('boost_fit_agg by kind', '{citus}', $$ SELECT kind, md5(btml.boost_fit_agg(good, ARRAY[price, item], '{"trees": 10}'::jsonb)::text) FROM sale GROUP BY kind $$),
('gp_fit_agg', '{citus}', $$ SELECT md5(btml.gp_fit_agg(rating, ARRAY[price, item])::text) FROM sale WHERE id < 1000 $$),
('metrics', '{citus}', $$ SELECT btml.rmse(rating, price), btml.mae(rating, price), btml.r2(rating, price), btml.auc(good, price), btml.average_precision(good, price), btml.ndcg(item, price, 5), btml.accuracy(kind, 'kind 1') FROM sale $$),
-- Predictions.
('predict, a row of a table', '{citus}', $$ SELECT s.id, btml.predict(model, s.*) FROM model, sale s WHERE name = 'boost' $$),
('predict, an array', '{citus}', $$ SELECT s.id, btml.predict(model, ARRAY[price, item]) FROM model, sale s WHERE name = 'boost' $$),
('predict, a named type', '{citus}', $$ SELECT s.id, btml.predict(model, ROW(s.price, s.item)::offer) FROM model, sale s WHERE name = 'boost' $$),
('predict, a row of a subquery', '{citus}', $$ SELECT s.id, btml.predict(model, s.*) FROM model, (SELECT id, price, item FROM sale) s WHERE name = 'boost' $$),
('predict, a row of a view', '{citus}', $$ SELECT s.id, btml.predict(model, s.*) FROM model, sale_of_shop s WHERE name = 'boost' $$),
('predict, a row of some columns', '{citus}', $$ SELECT s.id, btml.predict(model, x.*) FROM model, sale s, LATERAL (SELECT s.price, s.item) x WHERE name = 'boost' $$),
('predict in WHERE', '{citus,postgres_fdw}', $$ SELECT id FROM sale WHERE btml.predict((SELECT model FROM model WHERE name = 'boost'), ARRAY[price, item]) > 3 $$),
('predict_interval, predict_quantile and predict_distribution', '{citus}', $$ SELECT s.id, btml.predict_interval(model, ARRAY[price, item]), btml.predict_quantile(model, s.*, 0.3), btml.predict_distribution(model, s.*) FROM model, sale s WHERE name = 'gp' $$),
('predict_normal and predict_latent', '{citus}', $$ SELECT s.id, btml.predict_normal(model, ARRAY[price, item]), btml.predict_latent(model, s.*) FROM model, sale s WHERE name = 'gp' $$),
('predict_class and the like', '{citus}', $$ SELECT s.id, btml.predict_class(model, s.*), btml.predict_probabilities(model, ARRAY[price, item]), btml.predict_probability(model, s.*, 'kind 2'),
    btml.predict_scores(model, s.*), btml.predict_leaf(model, s.*) FROM model, sale s WHERE name = 'classes' $$),
('explain', '{citus}', $$ SELECT s.id, e.feature, e.contribution FROM model, sale s, btml.explain(model, ARRAY[price, item]) e WHERE name = 'boost' AND s.id < 50 $$),
('shap', '{citus}', $$ SELECT s.id, btml.shap(model, s.*) FROM model, sale s WHERE name = 'boost' AND s.id < 50 $$),
('shap_interactions', '{citus}', $$ SELECT s.id, i.feature, i.other, i.contribution FROM model, sale s, btml.shap_interactions(model, ARRAY[price, item]) i WHERE name = 'boost' AND s.id < 20 $$),
('nearest_exemplar', '{citus}', $$ SELECT s.id, btml.nearest_exemplar(ARRAY[price, rating], '[{"id": 1, "x": [0, 2]}, {"id": 2, "x": [1, 4]}]') FROM sale s $$),
('an error of a prediction', NULL, $$ SELECT btml.predict(model, ARRAY[price]) FROM model, sale WHERE name = 'boost' $$),
('rmse of predictions', '{citus}', $$ SELECT btml.rmse(rating, btml.predict(model, s.*)) FROM model, sale s WHERE name = 'boost' $$),
('rmse of predictions by key', '{citus,postgres_fdw}', $$ SELECT shop, btml.rmse(rating, btml.predict((SELECT model FROM model WHERE name = 'boost'), ARRAY[price, item])) FROM sale GROUP BY shop $$),
('predict in UPDATE', '{citus,postgres_fdw}', $$ UPDATE sale SET rating = btml.predict((SELECT model FROM model WHERE name = 'boost'), ARRAY[price, item]) WHERE id BETWEEN 100 AND 200 RETURNING id, rating $$),
('predict in UPDATE, joined', '{citus}', $$ UPDATE sale SET rating = btml.predict(model, ARRAY[price, item]) FROM model WHERE name = 'boost' AND id < 100 RETURNING id, rating $$),
-- Errors where the rows are.
('an error of a row', NULL, $$ SELECT btml.tree_fit('SELECT price, rating FROM sale WHERE 1 / (id - 7) < 5', 'rating') $$),
('an error of an aggregate', NULL, $$ SELECT shop, btml.boost_fit_agg(rating, ARRAY[price, item], '{"tree": 3}'::jsonb) FROM sale GROUP BY shop $$),
('an error of NaN in a source', NULL, $$ SELECT btml.kernel_sum('SELECT CASE id WHEN 7 THEN ''NaN'' ELSE price END AS price FROM sale WHERE id = 7', 'SELECT 1 AS price', 0.5) $$);

-- The rows that a statement gives over the tables of a schema, in an order of their own; or its error.
CREATE FUNCTION here.answer(statement text, tables text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    r record;
    rows text[] := '{}';
BEGIN
    PERFORM set_config('search_path', concat_ws(', ', nullif(tables, 'here'), 'here', 'public'), true);
    FOR r IN EXECUTE statement LOOP rows := rows || r::text; END LOOP;
    RETURN (SELECT string_agg(row, E'\n' ORDER BY row COLLATE "C") FROM unnest(rows) row);
EXCEPTION WHEN OTHERS THEN
    RETURN format('ERROR: %s: %s', SQLSTATE, SQLERRM);
END $$;

-- Whether functions of btml are in what is sent to other servers.
CREATE FUNCTION here.is_pushed(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    line text;
    found boolean := false;
BEGIN
    PERFORM set_config('search_path', 'everywhere, here, public', true);
    FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS off) ' || statement LOOP
        found := found OR line ~ '(Remote SQL|Query): .*btml\.[a-z]';
    END LOOP;
    RETURN found;
END $$;

-- The line of TAP for a statement, and what was wrong. Each wants a transaction of its own, since in one Citus refuses to
-- mix EXPLAIN (VERBOSE) with queries of a reference table.
CREATE FUNCTION here.compared(statement here.statement, engine text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    expected text := here.answer(statement.statement, 'here');
    got text := here.answer(statement.statement, 'everywhere');
    problem text := CASE
        WHEN got IS DISTINCT FROM expected THEN format('gave %s, not %s', left(got, 300), left(expected, 300))
        WHEN (expected LIKE 'ERROR: %') <> (statement.name LIKE 'an error %') THEN 'gave ' || left(expected, 300)
        WHEN here.is_pushed(statement.statement) <> (engine = ANY(statement.pushed)) THEN
            CASE WHEN engine = ANY(statement.pushed) THEN 'is not pushed' ELSE 'is pushed' END
    END;
BEGIN
    RETURN CASE WHEN problem IS NULL THEN 'ok - ' ELSE 'not ok - ' END || statement.name
        || coalesce(E'\n# ' || replace(problem, E'\n', E'\n# '), '');
END $$;
