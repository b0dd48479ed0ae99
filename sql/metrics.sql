-- Metrics of predictions: against scikit-learn's numbers and plain SQL, in parallel, over windows, with bad input.
CREATE SCHEMA metrics;
SET search_path = metrics, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE FUNCTION near(a float8,
    b float8) RETURNS boolean LANGUAGE sql AS $$ SELECT coalesce(abs(a - b) <= 1e-12 * (1 + abs(b)), a IS NULL AND b IS NULL) $$;

-- The numbers of scikit-learn 1.7's and SciPy 1.16's functions on these rows, without weights and with.
CREATE TABLE point AS
SELECT i, (i * 37 % 41) / 8.0::float8 - 1 AS y, (i * 23 % 43) / 8.0::float8 - 1.25 AS p, 1 + i % 4 / 2.0::float8 AS w,
    i * 7 % 10 < 4 AS c, (i * 13 % 20) / 20.0::float8 AS q,
    least(greatest((i * 13 % 20) / 20.0::float8, 0.01), 0.99) AS inner_q, i * 11 % 6 AS n, 0.25 + (i * 17 % 13) / 4.0::float8 AS mu,
    0.5 + (i % 5) / 2.0::float8 AS sd, 1 + (i % 7) * 3.0::float8 AS df, i * 11 % 5 AS relevance
FROM generate_series(1, 40) i;
SELECT metric, near(value, expected) AS plain, near(weighted_value, weighted_expected) AS weighted FROM (SELECT
    btml.rmse(y, p) AS rmse, btml.rmse(y, p, w) AS rmse_w, btml.mae(y, p) AS mae, btml.mae(y, p, w) AS mae_w, btml.r2(y, p) AS r2,
    btml.r2(y, p, w) AS r2_w,
    btml.pinball(y, p, 0.3) AS pinball, btml.pinball(y, p, 0.3, w) AS pinball_w, btml.poisson_deviance(n, mu) AS poisson,
    btml.poisson_deviance(n, mu, w) AS poisson_w,
    btml.log_loss(c, inner_q) AS log_loss, btml.log_loss(c, inner_q, w) AS log_loss_w, btml.log_loss(c::int, inner_q) AS share,
    btml.log_loss(c::int, inner_q, w) AS share_w,
    btml.log_loss(CASE WHEN c THEN inner_q ELSE 1 - inner_q END) AS of_true,
    btml.log_loss(true, CASE WHEN c THEN inner_q ELSE 1 - inner_q END, w) AS of_true_w,
    btml.brier(c, q) AS brier, btml.brier(c, q, w) AS brier_w, btml.brier(c::int, q) AS brier_share,
    btml.brier(c::int, q, w) AS brier_share_w,
    btml.accuracy(c, q > 0.5) AS accuracy, btml.accuracy(c, q > 0.5, w) AS accuracy_w, btml.accuracy(c::int, (q > 0.5)::int) AS integers,
    btml.accuracy(c::int, (q > 0.5)::int, w) AS integers_w,
    btml.accuracy(c::text, (q > 0.5)::text) AS texts, btml.accuracy(c::text, (q > 0.5)::text, w) AS texts_w, btml.auc(c, q) AS auc,
    btml.auc(c, q, w) AS auc_w,
    btml.average_precision(c, q) AS ap, btml.average_precision(c, q, w) AS ap_w, btml.ndcg(relevance, q, 5) AS ndcg,
    btml.ndcg(relevance, q, 40) AS ndcg_all,
    btml.nll_normal(y, p, sd) AS nll, btml.nll_normal(y, p, sd, w) AS nll_w, btml.crps_normal(y, p, sd) AS crps,
    btml.crps_normal(y, p, sd, w) AS crps_w,
    btml.nll_student_t(y, p, sd, df) AS t, btml.nll_student_t(y, p, sd, df, w) AS t_w, btml.coverage(y, p - sd, p + sd) AS coverage,
    btml.coverage(y, p - sd, p + sd, w) AS coverage_w FROM point) m,
LATERAL (VALUES ('rmse', rmse, 2.087256722351134, rmse_w, 2.0250936927178738), ('mae', mae, 1.715625, mae_w, 1.6491071428571429), ('r2',
    r2, -1.0924953095684802, r2_w, -0.9692306514465958),
    ('pinball', pinball, 0.8221875, pinball_w, 0.7829464285714286), ('poisson_deviance', poisson, 3.1131193130092694, poisson_w,
    3.17919825793354),
    ('log_loss', log_loss, 0.8266554798200099, log_loss_w, 0.7241483492471354), ('log_loss of shares', share, 0.8266554798200099, share_w,
    0.7241483492471354), ('log_loss of p', of_true, 0.8266554798200099, of_true_w, 0.7241483492471354),
    ('brier', brier, 0.26875, brier_w, 0.24571428571428575), ('brier of shares', brier_share, 0.26875, brier_share_w, 0.24571428571428575),
    ('accuracy', accuracy, 0.45, accuracy_w, 0.4714285714285714), ('accuracy of integers', integers, 0.45, integers_w, 0.4714285714285714),
    ('accuracy of texts', texts, 0.45, texts_w, 0.4714285714285714),
    ('auc', auc, 0.625, auc_w, 0.6785714285714286), ('average_precision', ap, 0.661625874125874, ap_w, 0.7043102563049372), ('ndcg', ndcg,
    0.4103833270147764, ndcg_all, 0.7352406517641302),
    ('nll_normal', nll, 3.2904053696039144, nll_w, 3.163629730963041), ('crps_normal', crps, 1.2785378320801306, crps_w,
    1.2315113948565732), ('nll_student_t', t, 2.6336165906987157, t_w, 2.5177304306530566),
    ('coverage', coverage, 0.4, coverage_w, 0.4142857142857143)) v(metric, value, expected, weighted_value, weighted_expected);

-- Plain SQL on random rows, in groups of many sizes.
CREATE TABLE random_row AS
SELECT i, 1 + trunc(sqrt(i))::int AS g, u[1] * 10 - 4 AS y, u[2] * 10 - 4 AS p, u[3] AS share, u[4] * 0.998 + 0.001 AS q, u[5] < 0.4 AS c,
    CASE WHEN i % 9 = 0 THEN 0 ELSE 3 * u[6] END AS w, round((8 * u[7])::numeric)::float8 AS score, floor(4 * u[8]) AS relevance,
    0.2 + u[9] AS sd
FROM generate_series(1, 2000) i,
    LATERAL (SELECT array_agg(('x' || substr(md5(i || ' ' || j), 1, 8))::bit(32)::bigint / 4294967296.0::float8 ORDER BY j) AS u
    FROM generate_series(1, 9) j) r;
ANALYZE random_row;
SELECT count(*) AS groups, bool_and(near(btml_rmse, rmse)) AS rmse, bool_and(near(btml_mae, mae)) AS mae,
    bool_and(near(btml_pinball, pinball)) AS pinball, bool_and(near(btml_poisson, poisson)) AS poisson,
    bool_and(near(btml_log_loss, log_loss)) AS log_loss,
    bool_and(near(btml_share, share)) AS share, bool_and(near(btml_brier, brier)) AS brier,
    bool_and(near(btml_accuracy, accuracy)) AS accuracy, bool_and(near(btml_coverage, coverage)) AS coverage,
    bool_and(near(btml_nll, nll)) AS nll, bool_and(near(btml_sum, sum)) AS sum
FROM (SELECT g, btml.rmse(y, p) AS btml_rmse, sqrt(avg((y - p) ^ 2)) AS rmse, btml.mae(y, p) AS btml_mae, avg(abs(y - p)) AS mae,
    btml.pinball(y, p, 0.9) AS btml_pinball, avg(greatest(0.9 * (y - p), -0.1 * (y - p))) AS pinball,
    btml.poisson_deviance(relevance, q) AS btml_poisson,
    avg(2 * (CASE WHEN relevance > 0 THEN relevance * ln(relevance / q) ELSE 0 END - relevance + q)) AS poisson,
    btml.log_loss(c, q) AS btml_log_loss, avg(-ln(CASE WHEN c THEN q ELSE 1 - q END)) AS log_loss,
    btml.log_loss(random_row.share, q) AS btml_share, avg(-random_row.share * ln(q) - (1 - random_row.share) * ln(1 - q)) AS share,
    btml.brier(c, q) AS btml_brier, avg((c::int - q) ^ 2) AS brier, btml.accuracy(c, q > 0.5) AS btml_accuracy,
    avg((c = (q > 0.5))::int) AS accuracy,
    btml.coverage(y, p - 2, p + 2) AS btml_coverage, avg((abs(y - p) <= 2)::int) AS coverage, btml.nll_normal(y, p, sd) AS btml_nll,
    avg(ln(sd * sqrt(2 * pi())) + ((y - p) / sd) ^ 2 / 2) AS nll, btml.exact_sum(y) AS btml_sum, sum(y) AS sum FROM random_row
    GROUP BY g) m;
SELECT count(*) AS groups, bool_and(near(btml_rmse, rmse)) AS rmse, bool_and(near(btml_mae, mae)) AS mae,
    bool_and(near(btml_log_loss, log_loss)) AS log_loss, bool_and(near(btml_coverage, coverage)) AS coverage
FROM (SELECT g, btml.rmse(y, p, w) AS btml_rmse, sqrt(sum(w * (y - p) ^ 2) / sum(w)) AS rmse, btml.mae(y, p, w) AS btml_mae,
    sum(w * abs(y - p)) / sum(w) AS mae, btml.log_loss(c, q, w) AS btml_log_loss,
    sum(-w * ln(CASE WHEN c THEN q ELSE 1 - q END)) / sum(w) AS log_loss,
    btml.coverage(y, p - 2, p + 2, w) AS btml_coverage, sum(w * (abs(y - p) <= 2)::int) / sum(w) AS coverage FROM random_row GROUP BY g) m;
SELECT count(*) AS groups, bool_and(near(btml_r2, r2)) AS r2, bool_and(near(btml_weighted, weighted)) AS weighted
    FROM (SELECT g, btml.r2(y, p) AS btml_r2, 1 - sum((y - p) ^ 2) / sum((y - mean) ^ 2) AS r2, btml.r2(y, p, w) AS btml_weighted,
    1 - sum(w * (y - p) ^ 2) / sum(w * (y - weighted_mean) ^ 2) AS weighted
    FROM random_row JOIN (SELECT g, avg(y) AS mean, sum(w * y) / sum(w) AS weighted_mean FROM random_row GROUP BY g) means USING (g)
    GROUP BY g) m;
-- Ranks: over all pairs of rows; precision at the score of each true row.
SELECT count(*) AS groups, bool_and(near(a.auc, b.auc)) AS auc, bool_and(near(a.weighted, b.weighted)) AS weighted
    FROM (SELECT g, btml.auc(c, score) AS auc, btml.auc(c, score, w) AS weighted FROM random_row GROUP BY g) a
    JOIN (SELECT t.g, avg(CASE WHEN t.score > f.score THEN 1 WHEN t.score = f.score THEN 0.5 ELSE 0 END) AS auc,
    sum(CASE WHEN t.score > f.score THEN t.w * f.w WHEN t.score = f.score THEN t.w * f.w / 2 ELSE 0 END)
    / nullif(sum(t.w * f.w), 0) AS weighted
        FROM random_row t JOIN random_row f ON t.g = f.g AND t.c AND NOT f.c GROUP BY t.g) b USING (g);
SELECT count(*) AS groups, bool_and(near(a.ap, b.ap)) AS average_precision, bool_and(near(a.weighted, b.weighted)) AS weighted
    FROM (SELECT g, btml.average_precision(c, score) AS ap, btml.average_precision(c, score, w) AS weighted FROM random_row GROUP BY g) a
    JOIN (SELECT g, avg(precision) FILTER (WHERE c) AS ap,
    sum(w * weighted_precision) FILTER (WHERE c) / nullif(sum(w) FILTER (WHERE c), 0) AS weighted
        FROM (SELECT g, c, w, avg(c::int) OVER above AS precision,
        sum(w * c::int) OVER above / nullif(sum(w) OVER above, 0) AS weighted_precision
        FROM random_row WINDOW above AS (PARTITION BY g ORDER BY score DESC)) p GROUP BY g) b USING (g);
SELECT count(*) AS queries, bool_and(near(a.ndcg, b.ndcg)) AS ndcg
    FROM (SELECT g, btml.ndcg(relevance, score, 7) AS ndcg FROM random_row GROUP BY g) a
    JOIN (SELECT g, sum(gain / ln(1 + rank)) FILTER (WHERE rank <= 7) / nullif(sum(best / ln(1 + place)) FILTER (WHERE place <= 7),
    0) AS ndcg
        FROM (SELECT g, avg(2 ^ relevance - 1) OVER (PARTITION BY g, score) AS gain,
        row_number() OVER (PARTITION BY g ORDER BY score DESC) AS rank,
            2 ^ relevance - 1 AS best, row_number() OVER (PARTITION BY g ORDER BY relevance DESC) AS place FROM random_row) r
            GROUP BY g) b USING (g);

-- The same bits for every order of the rows and every plan.
CREATE FUNCTION answers(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
    EXECUTE format('SELECT md5(string_agg(q::text, '' '' ORDER BY q::text)) FROM (%s) q', query) INTO result;
    RETURN result;
END $$;
CREATE FUNCTION plan_has(query text, what text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS off) ' || query LOOP IF line ~ what THEN RETURN true; END IF; END LOOP;
    RETURN false;
END $$;
CREATE FUNCTION every_metric(rest text) RETURNS text LANGUAGE sql AS $$
    SELECT 'SELECT btml.rmse(y, p), btml.rmse(y, p, w), btml.mae(y, p), btml.mae(y, p, w), btml.r2(y, p), btml.r2(y, p, w), btml.pinball(y,
        p, 0.3),
    btml.pinball(y, p, 0.3, w), btml.poisson_deviance(relevance, q), btml.poisson_deviance(relevance, q, w), btml.log_loss(c, q),
    btml.log_loss(c, q, w), btml.log_loss(share, q), btml.log_loss(share, q, w), btml.log_loss(q),
    btml.brier(c, q), btml.brier(c, q, w), btml.brier(share, q), btml.brier(share, q, w), btml.accuracy(c, q > 0.5),
    btml.accuracy(c, q > 0.5, w), btml.accuracy(relevance::int, score::int), btml.accuracy(relevance::int, score::int, w),
    btml.accuracy(relevance::text, score::text), btml.accuracy(relevance::text, score::text, w), btml.auc(c, score), btml.auc(c, score, w),
    btml.average_precision(c, score), btml.average_precision(c, score, w), btml.ndcg(relevance, score, 7),
    btml.coverage(y, p - 2, p + 2), btml.coverage(y, p - 2, p + 2, w), btml.nll_normal(y, p, sd), btml.nll_normal(y, p, sd, w),
    btml.crps_normal(y, p, sd), btml.crps_normal(y, p, sd, w), btml.nll_student_t(y, p, sd, 4),
    btml.nll_student_t(y, p, sd, 4, w), btml.exact_sum(y) ' || rest $$;
CREATE TABLE query AS SELECT name, every_metric(rest) AS query
    FROM (VALUES ('all', 'FROM metrics.random_row'), ('group by', ', i % 7 FROM metrics.random_row GROUP BY i % 7'), ('filter',
    ', i % 7 FROM metrics.random_row WHERE i < 100 GROUP BY i % 7')) v(name, rest);
CREATE TABLE serial AS SELECT name, answers(query) FROM query;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 3;
SELECT name, plan_has(query, 'Partial') AS partial, plan_has(query, 'Gather') AS workers, answers(query) = answers AS same
    FROM query JOIN serial USING (name) ORDER BY name;
SET parallel_leader_participation = off;
SELECT name, answers(query) = answers AS same FROM query JOIN serial USING (name) ORDER BY name;
RESET parallel_leader_participation; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
    RESET max_parallel_workers_per_gather;
SELECT answers(every_metric('FROM (SELECT * FROM metrics.random_row ORDER BY md5(i::text)) shuffled')) = answers AS shuffled,
    answers(every_metric('FROM (SELECT * FROM metrics.random_row ORDER BY y DESC) sorted')) = answers AS sorted FROM serial
    WHERE name = 'all';
-- Partitions are aggregated one by one and combined.
CREATE TABLE parted (LIKE random_row) PARTITION BY RANGE (i);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (700);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (700) TO (5000);
INSERT INTO parted SELECT * FROM random_row;
ANALYZE parted;
SET enable_partitionwise_aggregate = on;
SELECT plan_has(replace(query, 'random_row', 'parted'), 'Partial') AS partial,
    answers(replace(query, 'random_row', 'parted')) = answers AS same FROM query JOIN serial USING (name) WHERE name = 'all';
RESET enable_partitionwise_aggregate;
-- Groups that are sorted, and groups that do not fit work_mem.
SET enable_hashagg = off;
SELECT answers(query) = answers AS sorted FROM query JOIN serial USING (name) WHERE name = 'group by';
RESET enable_hashagg;
CREATE TABLE many_groups AS SELECT i % 3000 AS h, y, p, c, score FROM random_row, generate_series(1, 5) copy;
CREATE TABLE fitting AS SELECT h, btml.rmse(y, p) AS rmse, btml.auc(c, score) AS auc FROM many_groups GROUP BY h;
SET work_mem = '64kB'; SET enable_sort = off;
SELECT plan_has('SELECT h, btml.rmse(y, p) FROM metrics.many_groups GROUP BY h', 'HashAggregate') AS hashed, count(*) AS groups,
    bool_and(m.rmse = f.rmse AND m.auc IS NOT DISTINCT FROM f.auc) AS same
FROM (SELECT h, btml.rmse(y, p) AS rmse, btml.auc(c, score) AS auc FROM many_groups GROUP BY h) m JOIN fitting f USING (h);
RESET work_mem; RESET enable_sort;
-- DISTINCT, grouping sets, states that two aggregates share.
SELECT btml.rmse(DISTINCT y, p) = (SELECT btml.rmse(y, p) FROM random_row) AS distinct_rmse,
    btml.auc(DISTINCT c, score) = (SELECT btml.auc(c, score) FROM (SELECT DISTINCT c, score FROM random_row) d) AS distinct_auc
    FROM (SELECT * FROM random_row UNION ALL SELECT * FROM random_row) twice;
SELECT count(*) AS sets, bool_and(r.rmse = (SELECT btml.rmse(y, p) FROM random_row s
    WHERE (r.c IS NULL OR s.c = r.c) AND (r.relevance IS NULL OR s.relevance = r.relevance))) AS rmse,
    bool_and(r.auc IS NOT DISTINCT
    FROM (SELECT btml.auc(y > 0, score) FROM random_row s
    WHERE (r.c IS NULL OR s.c = r.c) AND (r.relevance IS NULL OR s.relevance = r.relevance))) AS auc
FROM (SELECT c, relevance, btml.rmse(y, p) AS rmse, btml.auc(y > 0, score) AS auc FROM random_row GROUP BY CUBE (c, relevance)) r;
-- As window functions: whole partitions, growing frames, moving frames.
SELECT bool_and(w.rmse = f.rmse AND w.auc IS NOT DISTINCT FROM f.auc) AS whole
    FROM (SELECT h, btml.rmse(y, p) OVER (PARTITION BY h) AS rmse, btml.auc(c, score) OVER (PARTITION BY h) AS auc FROM many_groups) w
    JOIN fitting f USING (h);
SELECT count(*) AS frames, bool_and(growing = (SELECT btml.r2(y, p) FROM random_row f WHERE f.i <= w.i)) AS growing,
    bool_and(growing_auc = (SELECT btml.auc(c, score) FROM random_row f WHERE f.i <= w.i)) AS growing_auc,
    bool_and(moving = (SELECT btml.r2(y, p) FROM random_row f WHERE f.i BETWEEN w.i - 9 AND w.i)) AS moving,
    bool_and(moving_auc = (SELECT btml.auc(c, score) FROM random_row f WHERE f.i BETWEEN w.i - 9 AND w.i)) AS moving_auc
FROM (SELECT i, btml.r2(y, p) OVER (ORDER BY i) AS growing, btml.auc(c, score) OVER (ORDER BY i) AS growing_auc,
    btml.r2(y, p) OVER moving AS moving, btml.auc(c, score) OVER moving AS moving_auc
    FROM random_row WHERE i <= 200 WINDOW moving AS (ORDER BY i ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)) w;

-- A NULL in any argument skips the row; no rows and rows that all weigh 0 have no value.
SELECT btml.rmse(y, p) AS rmse, btml.rmse(y, p, w) AS weighted, btml.accuracy(y::text, p::text) AS accuracy, btml.auc(y > 1, p) AS auc,
    btml.pinball(y, p, w) AS pinball, btml.ndcg(y, p, k) AS ndcg, btml.exact_sum(y) AS exact_sum
FROM (VALUES (NULL::float8, NULL::float8, NULL::float8, NULL::int), (1, 3, 0.5, 1), (NULL, 1, 0.5, 1), (2, NULL, 0.5, 1), (3, 4, NULL,
    NULL)) v(y, p, w, k);
SELECT bool_and(value IS NULL) AS nothing
    FROM (SELECT to_jsonb(q) AS all_values
    FROM (SELECT btml.rmse(y, p), btml.rmse(y, p, w), btml.r2(y, p), btml.auc(c, score), btml.average_precision(c, score, w),
    btml.ndcg(relevance, score, 3), btml.exact_sum(y) FROM random_row WHERE false) q) j, jsonb_each_text(all_values);
SELECT btml.rmse(y, p, 0) AS rmse, btml.r2(y, p, 0) AS r2, btml.auc(c, score, 0) AS auc,
    btml.average_precision(c, score, 0) AS average_precision FROM random_row;
SELECT btml.rmse(y, p, w) = (SELECT btml.rmse(y, p, 5 * w) FROM random_row) AS rmse_of_scaled,
    btml.auc(c, score, w) = (SELECT btml.auc(c, score, 4 * w) FROM random_row) AS auc_of_scaled,
    btml.mae(y, p, w) = (SELECT btml.mae(y, p, w) FROM random_row WHERE w > 0) AS without_zeros
    FROM (SELECT y, p, c, score, w FROM random_row) r WHERE w < 1000;
-- What is not defined: one class, no true row, equal targets, no relevant row.
SELECT btml.auc(true, score) AS auc, btml.auc(false, score) AS other_auc, btml.average_precision(false, score) AS average_precision,
    btml.average_precision(true, score) AS all_true, btml.r2(0.1, p) AS r2, btml.r2(0.1, p, w) AS weighted_r2,
    btml.ndcg(0, score, 5) AS ndcg FROM random_row;
-- Ends of the ranges.
SELECT btml.log_loss(true, 0) AS log_loss_of_0, btml.log_loss(true, 1) AS log_loss_of_1, btml.log_loss(false, 1) AS false_of_1,
    btml.log_loss(0) AS only_0, btml.poisson_deviance(0, 1.5) AS poisson_of_0, btml.poisson_deviance(3, 3) AS poisson_of_equal,
    btml.coverage(1, '-Infinity', 'Infinity') AS everything, btml.coverage(1, 2, 0) AS crossed, btml.coverage(1, 1, 1) AS point;
SELECT btml.auc(y, s) AS infinite_scores, btml.auc(y, 0) AS equal_scores
    FROM (VALUES (true, 'Infinity'::float8), (false, '-Infinity'), (true, '-Infinity'), (false, 5)) v(y, s);
SELECT round(btml.r2(1e9 + y, 1e9 + p)::numeric, 6) = round(btml.r2(y, p)::numeric, 6) AS far_from_zero FROM random_row;
SELECT btml.accuracy(a, b) AS labels
    FROM (VALUES ('é', 'é'), ('a', 'A'), ('', ''), (repeat('x', 5000), repeat('x', 5000)), ('ab', 'a')) v(a, b);

-- Errors
SELECT call, caught('SELECT btml.' || call)
    FROM unnest(ARRAY['rmse(''NaN'', 1)', 'rmse(1, ''Infinity'')', 'mae(1e308, -1e308)', 'rmse(1e308, -1e308)', 'r2(1, ''NaN'')',
    'r2(-1e308, 1e308)', 'rmse(1, 2, -1)', 'rmse(1, 2, ''NaN'')', 'rmse(1, 2, ''Infinity'')', 'rmse(''NaN'', 1, 0)',
    'pinball(1, 2, 0)', 'pinball(1, 2, 1)', 'pinball(1, 2, ''NaN'')', 'pinball(''-Infinity'', 2, 0.5)', 'poisson_deviance(1, 0)',
    'poisson_deviance(-1, 2)', 'poisson_deviance(1, -2)', 'poisson_deviance(''Infinity'', 2)', 'log_loss(true, 1.5)',
    'log_loss(true, ''NaN'')', 'log_loss(2, 0.5)',
    'log_loss(-0.1)', 'log_loss(true, 0.5, -2)', 'brier(true, -1)', 'brier(1.5, 0.5)', 'accuracy(true, true, -1)', 'auc(true, ''NaN'')',
    'auc(true, 1, -1)', 'average_precision(true, ''NaN'', 1)', 'coverage(''Infinity'', 1, 2)', 'coverage(1, ''NaN'', 2)',
    'coverage(1, 0, ''NaN'')',
    'nll_normal(1, 2, 0)', 'nll_normal(1, 2, -1)', 'nll_normal(1, 2, ''Infinity'')', 'nll_normal(1, ''NaN'', 1)',
    'nll_normal(1, 0, 1e-200)', 'crps_normal(1, 2, 0)', 'nll_student_t(1, 2, 0, 5)', 'nll_student_t(1, 2, 1, 0)',
    'nll_student_t(1, 2, 1, ''Infinity'')',
    'ndcg(-1, 1, 5)', 'ndcg(32, 1, 5)', 'ndcg(1, ''NaN'', 5)', 'ndcg(1, 1, 0)', 'ndcg(1, 1, -3)', 'exact_sum(''x'')']) call;
SELECT caught(query) FROM unnest(ARRAY['SELECT btml.pinball(1, 2, a) FROM (VALUES (0.5), (0.25)) v(a)',
    'SELECT btml.ndcg(1, 2, k) FROM (VALUES (5), (6)) v(k)',
    'SELECT btml.pinball(1, 2, a, 1) FROM (VALUES (0.5), (0.5), (0.6)) v(a)']) query;
SET btml.memory_limit = '1MB';
SELECT regexp_replace(caught('SELECT ' || call || ' FROM generate_series(1, 100000) i'), 'required is \d+', 'required is N')
    FROM unnest(ARRAY['btml.auc(i % 2 = 0, i)', 'btml.average_precision(i % 2 = 0, i, 1)', 'btml.ndcg(i % 5, i, 10)',
    'btml.rmse(i, 1)']) call;
SELECT btml.auc(i % 2 = 0, i) > 0.5 AS auc FROM generate_series(1, 30000) i;
RESET btml.memory_limit;

-- A sum that does not depend on the order of its terms.
SELECT btml.exact_sum(x) AS exact_sum FROM (VALUES (1e308), (1), (1e308), (-1e308), (-1e308)) v(x);
SELECT btml.exact_sum(x) AS halfway, btml.exact_sum(-x) AS negative FROM (VALUES (1::float8), (2 ^ -53), (2 ^ -53), (-(2 ^ -53))) v(x);
SELECT btml.exact_sum(x) AS above_halfway FROM (VALUES (1::float8), (2 ^ -53), (5e-324)) v(x);
SELECT btml.exact_sum(x) = 100000 AS tenths FROM (SELECT 0.1::float8 AS x FROM generate_series(1, 1000000)) t;
SELECT btml.exact_sum(x) AS infinity, btml.exact_sum(-x) AS minus_infinity, btml.exact_sum(x) FILTER (WHERE x < 5) AS finite
    FROM (VALUES (1::float8), ('Infinity'), (2)) v(x);
SELECT btml.exact_sum(x) AS infinities, btml.exact_sum('NaN') AS nan, btml.exact_sum(5e-324 * sign(abs(x))) AS denormal
    FROM (VALUES ('-Infinity'::float8), ('Infinity')) v(x);
SELECT caught('SELECT btml.exact_sum(x) FROM (VALUES (1e308), (1e308)) v(x)'),
    caught('SELECT sum(x) FROM (VALUES (1e308::float8), (1e308)) v(x)');
-- Zeros have the sign that sum gives them.
SELECT v::text, sum(x), btml.exact_sum(x), sum(x)::text = btml.exact_sum(x)::text AS same
    FROM (VALUES ('{-0}'::float8[]), ('{-0,-0,-0}'), ('{0}'), ('{-0,0}'), ('{0,-0}'), ('{1,-0,-1}'), ('{-1,1}'), ('{-0,NULL}'),
    ('{-0,5e-324,-5e-324}')) s(v), unnest(v) x GROUP BY v::text ORDER BY v::text;
-- Over moving frames rows are taken back, but for numbers that are not finite, which have the sum begun anew: bit for
-- bit the sums of the frames.
CREATE TABLE moved AS SELECT i, CASE WHEN i % 97 = 0 THEN 'Infinity' WHEN i % 101 = 0 THEN '-Infinity' WHEN i % 89 = 0 THEN 'NaN'
    WHEN i % 13 = 0 THEN NULL WHEN i / 50 % 5 = 1 THEN '-0'
    ELSE (hashint4(i) % 1000)::float8 * 10::float8 ^ (hashint4(i + 7) % 290) END AS x FROM generate_series(1, 1000) i;
SELECT width, count(*) AS frames, count(*) FILTER (WHERE moving IS DISTINCT FROM alone OR moving::text IS DISTINCT
    FROM alone::text) AS different, count(*) FILTER (WHERE alone::text = '-0') AS negative_zeros,
    count(*) FILTER (WHERE alone IS NULL) AS nulls
FROM (SELECT 3 AS width, i, btml.exact_sum(x) OVER (ORDER BY i ROWS 2 PRECEDING) AS moving FROM moved
    UNION ALL SELECT 20, i, btml.exact_sum(x) OVER (ORDER BY i ROWS 19 PRECEDING) FROM moved
    UNION ALL SELECT 1, i, btml.exact_sum(x) OVER (ORDER BY i ROWS CURRENT ROW) FROM moved) w, LATERAL (SELECT btml.exact_sum(x) AS alone
    FROM moved f WHERE f.i BETWEEN w.i - w.width + 1 AND w.i) a GROUP BY width ORDER BY width;
-- A moving sum takes the time of its rows and not of its frames, which are 2 * 10^9 here.
SELECT count(DISTINCT s) FROM (SELECT btml.exact_sum(0.5) OVER (ROWS 50000 PRECEDING) AS s FROM generate_series(1, 100000)) w;

-- Squares of numbers beyond the range of doubles have ordinary roots and ratios.
SELECT btml.rmse(y, 0) AS rmse, btml.rmse(y, 0, w) AS weighted, btml.mae(y, 0, w) AS mae, btml.r2(y, y/2) AS r2,
    btml.crps_normal(y, 0, 1/y) AS crps FROM (VALUES (1e-170::float8, 1e-300::float8), (1e160, 1e300)) v(y, w) GROUP BY y ORDER BY y;
SELECT round(btml.r2(y * unit, p * unit)::numeric, 12) AS r2
    FROM (VALUES (1, 1.5), (2, 2), (4, 3)) v(y, p), (VALUES (1e-170::float8), (1), (1e160)) u(unit) GROUP BY unit ORDER BY unit;

-- The transition types: their functions are for the aggregates, their text is no way round any check.
SELECT caught(call) FROM unnest(ARRAY['SELECT btml_internal.rmse_accumulate(NULL, 1, 2)',
    'SELECT btml_internal.ranking_accumulate(NULL, true, 2)', 'SELECT btml_internal.ndcg_accumulate(NULL, 1, 2, 3)']) call;
SELECT btml_internal.rmse_accumulate(NULL, NULL, 2) IS NULL AS skipped, btml_internal.metric_sums_final(NULL) IS NULL AS final_of_null,
    btml_internal.metric_sums_combine(NULL, NULL) IS NULL AS combine_of_nulls, btml_internal.auc_final(NULL) IS NULL AS auc_of_null,
    btml_internal.metric_rows_combine(NULL, NULL) IS NULL AS rows_of_nulls;
CREATE AGGREGATE sums_of(float8, float8) (SFUNC = btml_internal.rmse_accumulate, STYPE = btml.metric_sums,
    COMBINEFUNC = btml_internal.metric_sums_combine);
CREATE AGGREGATE rows_of(boolean, float8) (SFUNC = btml_internal.ranking_accumulate, STYPE = btml.metric_rows,
    COMBINEFUNC = btml_internal.metric_rows_combine);
CREATE TABLE state AS SELECT sums_of(y, p) AS sums, rows_of(c, score) AS rows FROM random_row WHERE i < 20;
SELECT sums::text::btml.metric_sums::text = sums::text AS sums, rows::text::btml.metric_rows::text = rows::text AS rows,
    length(btml_internal.metric_sums_send(sums)) < 60 AS few_bytes,
    btml_internal.metric_sums_final(sums) = (SELECT btml.rmse(y, p) FROM random_row WHERE i < 20) AS rmse,
    btml_internal.auc_final(rows) = (SELECT btml.auc(c, score) FROM random_row WHERE i < 20) AS auc FROM state;
COPY state TO '/dev/null' (FORMAT binary);
CREATE FUNCTION text_of(bytes bytea) RETURNS text LANGUAGE sql AS $$ SELECT replace(encode(bytes, 'base64'), E'\n', '') $$;
SELECT caught('SELECT ''!''::btml.metric_sums'), caught('SELECT ''AAAA''::btml.metric_rows'), caught('SELECT ''/w==''::btml.metric_sums');
SELECT DISTINCT caught(format('SELECT btml_internal.metric_sums_final(%L::btml.metric_sums)',
    text_of(substr(s, 1, n)))) LIKE '22P03: invalid btml.metric_sums value%' AS refused
    FROM (SELECT btml_internal.metric_sums_send(sums) AS s FROM state) b, generate_series(1, length(s) - 1) n;
SELECT DISTINCT caught(format('SELECT btml_internal.auc_final(%L::btml.metric_rows)',
    text_of(substr(s, 1, n)))) LIKE '22P03: invalid btml.metric_rows value%' AS refused
    FROM (SELECT btml_internal.metric_rows_send(rows) AS s FROM state) b, generate_series(0, length(s) - 1) n;
SELECT DISTINCT left(caught(format('SELECT btml_internal.metric_sums_final(%L::btml.metric_sums)',
    text_of(set_byte(s, n, get_byte(s, n) # flip)))), 8) AS outcome
    FROM (SELECT btml_internal.metric_sums_send(sums) AS s FROM state) b, generate_series(0, length(s) - 1) n,
    unnest(ARRAY[1, 128, 255]) flip ORDER BY 1;
SELECT DISTINCT left(caught(format('SELECT btml_internal.average_precision_final(%L::btml.metric_rows)',
    text_of(set_byte(s, n, get_byte(s, n) # flip)))), 8) AS outcome
    FROM (SELECT btml_internal.metric_rows_send(rows) AS s FROM state) b, generate_series(0, length(s) - 1) n,
    unnest(ARRAY[1, 128, 255]) flip ORDER BY 1;
-- Every aggregate has a comment that says which way is better, and can run in parallel.
SELECT count(*) AS aggregates, bool_and(p.proparallel = 's' AND a.aggcombinefn <> 0) AS parallel,
    bool_and(obj_description(p.oid, 'pg_proc') ~ '(lower|higher|share)\s+is\s+better|the same, where a row'
    OR p.proname = 'exact_sum') AS comments
FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid
    WHERE p.pronamespace = 'btml'::regnamespace AND a.aggtranstype IN ('btml.metric_sums'::regtype, 'btml.metric_rows'::regtype);
DROP SCHEMA metrics CASCADE;
