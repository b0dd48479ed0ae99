-- The examples of contrib_docs/boosting.md.
\set QUIET on
\i test/data/baseball/load.sql
\set ON_ERROR_STOP off

CREATE TABLE store (store_id int PRIMARY KEY, region text, area float8);
CREATE TABLE item (item_id int PRIMARY KEY, kind text, price float8);
CREATE TABLE sale (store_id int, item_id int, day date, quantity float8);
CREATE TABLE promotion (item_id int, discount float8);
INSERT INTO store SELECT i, CASE WHEN i % 3 = 0 THEN 'south' ELSE 'north' END, 50 + i * 37 % 200 FROM generate_series(1, 40) i;
INSERT INTO item SELECT i, (ARRAY['tea', 'cup', 'pot'])[1 + i % 3], 1 + i * 53 % 90 FROM generate_series(1, 60) i;
INSERT INTO promotion SELECT 1 + i * 7 % 60, 0.05 * (1 + i % 6) FROM generate_series(1, 90) i;
INSERT INTO sale
SELECT t.store_id, i.item_id, date '2025-01-01' + n % 180,
       100 + 0.2 * t.area - 0.5 * i.price + CASE i.kind WHEN 'tea' THEN 30 ELSE 0 END + n * 7919 % 10
FROM generate_series(1, 20000) n JOIN store t ON t.store_id = 1 + n % 40 JOIN item i ON i.item_id = 1 + n * 31 % 60;

CREATE TABLE models (name text PRIMARY KEY, model btml.model);

INSERT INTO models SELECT 'quantity', btml.boost_fit('
    SELECT s.quantity, s.day, t.region, t.area, i.kind, i.price, s.day >= ''2025-06-01'' AS is_test
    FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)',
    target => 'quantity', holdout => 'is_test', trees => 50);

SELECT iteration, round(sqrt(train_loss)::numeric, 2) AS train_rmse, round(sqrt(holdout_loss)::numeric, 2) AS holdout_rmse
FROM models, btml.training_log(model) WHERE iteration IN (1, 10, 50);

SELECT feature, round(gain) AS gain, splits FROM models, btml.feature_importance(model);

SELECT DISTINCT s.store_id, s.item_id, s.quantity, round(btml.predict(m.model, x.*)::numeric, 1) AS predicted
FROM models m, sale s JOIN store t USING (store_id) JOIN item i USING (item_id),
     LATERAL (SELECT s.day, t.region, t.area, i.kind, i.price) x
WHERE s.day = '2025-06-15' ORDER BY s.store_id, s.item_id LIMIT 3;

CREATE TABLE contract (contract_id int PRIMARY KEY, months int, leaves boolean);
CREATE TABLE call (contract_id int, minutes int);
CREATE TABLE fits (name text PRIMARY KEY, model btml.model);
INSERT INTO call SELECT i, (i * n * 31 + n * n) % 50
FROM generate_series(1, 6000) i, generate_series(1, 1 + floor(40 * (i * 7919 % 1009 / 1009.0) ^ 6)::int) n;
INSERT INTO contract SELECT contract_id, contract_id * 37 % 48, contract_id * 7907 % 1000 < 60 + 10 * count(*)
FROM call GROUP BY contract_id;
CREATE VIEW called AS
SELECT c.contract_id, c.leaves, c.months, k.minutes FROM contract c JOIN call k USING (contract_id);
CREATE VIEW counted AS
SELECT contract_id, leaves, months, count(*) AS calls, avg(minutes) AS minutes FROM called GROUP BY contract_id, leaves, months;

INSERT INTO fits SELECT 'by calls', btml.boost_fit('called', 'leaves', exclude => '{contract_id}', trees => 30);

INSERT INTO fits SELECT 'by contracts', btml.boost_fit('called', 'leaves', exclude => '{contract_id}', trees => 30, unit => 'target');
INSERT INTO fits SELECT 'of counts', btml.boost_fit('counted', 'leaves', exclude => '{contract_id}', trees => 30);
WITH predicted AS (
    SELECT contract_id, avg(btml.predict(m.model, c.*)) FILTER (WHERE m.name = 'by calls') AS by_calls,
           avg(btml.predict(m.model, c.*)) FILTER (WHERE m.name = 'by contracts') AS by_contracts
    FROM fits m, called c WHERE m.name IN ('by calls', 'by contracts') GROUP BY contract_id)
SELECT CASE WHEN c.calls = 1 THEN '1' WHEN c.calls < 10 THEN '2 to 9' ELSE '10 to 40' END AS calls, count(*) AS contracts,
       round(avg(c.leaves::int), 3) AS leave, round(avg(p.by_calls)::numeric, 3) AS by_calls,
       round(avg(p.by_contracts)::numeric, 3) AS by_contracts, round(avg(btml.predict(m.model, c.*))::numeric, 3) AS of_counts
FROM fits m, counted c JOIN predicted p USING (contract_id) WHERE m.name = 'of counts' GROUP BY 1 ORDER BY min(c.calls);

CREATE TABLE player_season AS
SELECT s.playerid, s.teamid, s.yearid, ln(s.salary) - avg(ln(s.salary)) OVER (PARTITION BY s.yearid) AS pay,
       NOT EXISTS (SELECT FROM baseball.salaries n WHERE n.playerid = s.playerid AND n.yearid = s.yearid + 1) AS leaves
FROM baseball.salaries s WHERE s.salary > 0 AND s.yearid < 2016;
CREATE VIEW churn AS
SELECT s.leaves, s.yearid, s.pay, s.yearid - p.birthyear AS age, s.yearid - extract(year FROM p.debut)::int AS experience,
       p.weight, t.w AS wins
FROM player_season s JOIN baseball.people p USING (playerid) JOIN baseball.teams t USING (yearid, teamid);

INSERT INTO models SELECT 'churn', btml.boost_fit('
    SELECT leaves, pay, age, experience, weight, wins, yearid > 2010 AS is_test FROM churn',
    target => 'leaves', holdout => 'is_test', trees => 50, max_leaves => 8);

CREATE TABLE forecast AS
SELECT c.leaves, btml.predict(m.model, c.*) AS p FROM models m, churn c WHERE m.name = 'churn' AND c.yearid > 2010;
SELECT forecast, round(btml.log_loss(leaves, p)::numeric, 3) AS log_loss, round(btml.auc(leaves, p)::numeric, 3) AS auc,
       round(btml.brier(leaves, p)::numeric, 3) AS brier
FROM (SELECT 'trees' AS forecast, leaves, p FROM forecast
      UNION ALL SELECT 'share of all', leaves, avg(leaves::int) OVER () FROM forecast) f
GROUP BY forecast ORDER BY forecast;

SELECT width_bucket(p, 0, 1, 10) AS bin, count(*) AS players, round(avg(p)::numeric, 2) AS predicted, round(avg(leaves::int), 2) AS observed
FROM forecast GROUP BY bin ORDER BY bin;

SELECT threshold, count(*) FILTER (WHERE p > threshold) AS warnings,
       count(*) FILTER (WHERE p > threshold AND leaves) AS right_ones, count(*) FILTER (WHERE p <= threshold AND leaves) AS missed,
       3 * count(*) FILTER (WHERE p <= threshold AND leaves) + count(*) FILTER (WHERE p > threshold AND NOT leaves) AS cost
FROM forecast, (VALUES (0), (0.125), (0.25), (0.5), (1)) v(threshold) GROUP BY threshold ORDER BY threshold;

INSERT INTO models SELECT 'churn, weighted',
    btml.boost_fit('SELECT leaves, pay, age, experience, weight, wins FROM churn WHERE yearid <= 2010',
    'leaves', trees => 50, max_leaves => 8, class_weights => '{"true": 3}');
SELECT round(avg(leaves::int), 2) AS observed, round(avg(p)::numeric, 2) AS predicted,
    round(avg(p / (p + 3 * (1 - p)))::numeric, 2) AS undone,
       round(btml.log_loss(leaves, p)::numeric, 3) AS log_loss,
       round(btml.log_loss(leaves, p / (p + 3 * (1 - p)))::numeric, 3) AS log_loss_undone
FROM (SELECT c.leaves, btml.predict(m.model, c.*) AS p FROM models m, churn c WHERE m.name = 'churn, weighted' AND c.yearid > 2010) f;

INSERT INTO models SELECT 'churn, stopped', btml.boost_fit('
    SELECT leaves, pay, age, experience, weight, wins, yearid > 2005 AS is_validation FROM churn WHERE yearid <= 2010',
    'leaves', holdout => 'is_validation', trees => 1000, max_leaves => 8, metric => 'auc', early_stopping => 20);
SELECT btml.summary(m.model)#>>'{metrics,trees}' AS trees, count(*) AS iterations, round(max(l.holdout_metric)::numeric, 3) AS best_auc,
       (SELECT round(btml.auc(c.leaves, btml.predict(m.model, c.*))::numeric, 3) FROM churn c WHERE c.yearid > 2010) AS auc_after_2010
FROM models m, btml.training_log(m.model) l WHERE m.name = 'churn, stopped' GROUP BY m.name;

INSERT INTO models SELECT 'bats', btml.boost_fit('SELECT bats, throws, height, birthyear FROM baseball.people', 'bats', trees => 30);
SELECT x.throws, x.height, x.birthyear, btml.predict_class(model, x) AS likeliest,
       round(btml.predict_probability(model, x, 'B')::numeric, 2) AS both,
       btml.predict_probabilities(model, x)::numeric(3,2)[] AS b_l_r
FROM models, (VALUES ('L', 74, 1890), ('R', 74, 1890), ('R', 68, 1990)) x(throws, height, birthyear) WHERE name = 'bats';

CREATE TABLE batter AS SELECT bats, throws, height, birthyear, birthyear % 5 = 0 AS held_out FROM baseball.people;
INSERT INTO models SELECT 'bats, tested', btml.boost_fit('batter', 'bats', holdout => 'held_out', trees => 30);
CREATE TABLE batting_side AS
SELECT b.bats AS truth, btml.predict_class(model, b.*) AS guess, btml.predict_probability(model, b.*, b.bats) AS p_truth
FROM models, batter b WHERE name = 'bats, tested' AND b.held_out AND b.bats IS NOT NULL;
SELECT truth, count(*) FILTER (WHERE guess = 'B') AS guess_b, count(*) FILTER (WHERE guess = 'L') AS guess_l,
       count(*) FILTER (WHERE guess = 'R') AS guess_r
FROM batting_side GROUP BY truth ORDER BY truth;

SELECT round(btml.accuracy(truth, guess)::numeric, 3) AS accuracy, round(btml.log_loss(p_truth)::numeric, 3) AS log_loss,
       round(avg((truth = 'R')::int), 3) AS always_r FROM batting_side;

CREATE VIEW at_bats AS
SELECT b.hr, b.ab, ln(b.ab) AS log_ab, b.yearid, b.yearid - p.birthyear AS age, p.weight, p.height, p.bats
FROM baseball.battingpost b JOIN baseball.people p USING (playerid) WHERE b.ab > 0;

INSERT INTO models SELECT 'home runs', btml.boost_fit('
    SELECT hr, log_ab, yearid, age, weight, height, bats FROM at_bats WHERE yearid < 2010',
    'hr', objective => 'poisson', "offset" => 'log_ab', trees => 50, max_leaves => 8);
SELECT count(*) AS lines, sum(hr) AS home_runs, round(sum(btml.predict(model, a.*))::numeric) AS expected,
       round(btml.poisson_deviance(hr, btml.predict(model, a.*))::numeric, 3) AS trees,
       round(btml.poisson_deviance(hr, rate * ab)::numeric, 3) AS one_rate, round(btml.poisson_deviance(hr, mean)::numeric, 3) AS one_mean
FROM models, at_bats a, (SELECT sum(hr)::float8 / sum(ab) AS rate, avg(hr) AS mean FROM at_bats WHERE yearid < 2010) before
WHERE name = 'home runs' AND yearid >= 2010;

SELECT x.weight, round(btml.predict(model, x)::numeric, 1) AS in_600_at_bats
FROM models, (SELECT weight, ln(600) AS log_ab, 2015 AS yearid, 28 AS age, 73 AS height, 'R' AS bats
    FROM unnest('{170,200,230}'::int[]) weight) x
WHERE name = 'home runs';

CREATE VIEW salary AS
SELECT ln(s.salary) AS log_salary, s.yearid, p.debut, p.birthyear, p.weight, p.bats, s.teamid, p.birthyear % 5 = 0 AS held_out
FROM baseball.salaries s JOIN baseball.people p USING (playerid) WHERE s.salary > 0 AND s.yearid > 2000;
INSERT INTO models
SELECT 'quantile ' || alpha,
       btml.boost_fit('salary', 'log_salary', objective => 'quantile', alpha => alpha, holdout => 'held_out', trees => 50, max_leaves => 8)
FROM unnest('{0.05,0.95}'::float8[]) alpha;

CREATE TABLE salary_interval AS
SELECT s.log_salary AS y, btml.predict(low.model, s.*) AS lower, btml.predict(high.model, s.*) AS upper, s.held_out
FROM salary s, models low, models high WHERE low.name = 'quantile 0.05' AND high.name = 'quantile 0.95';
SELECT held_out, count(*) AS salaries, round(btml.coverage(y, lower, upper)::numeric, 3) AS coverage,
    round(avg((y < lower)::int), 3) AS below,
       round(avg((y > upper)::int), 3) AS above, round(exp(avg(upper - lower))::numeric, 1) AS factor_between
FROM salary_interval GROUP BY held_out ORDER BY held_out;

INSERT INTO models
SELECT 'large quantile ' || alpha, btml.boost_fit('salary', 'log_salary', objective => 'quantile', alpha => alpha, holdout => 'held_out')
FROM unnest('{0.05,0.95}'::float8[]) alpha;
SELECT round(btml.coverage(s.log_salary, btml.predict(low.model, s.*), btml.predict(high.model, s.*))::numeric, 2) AS coverage
FROM salary s, models low, models high
WHERE s.held_out AND low.name = 'large quantile 0.05' AND high.name = 'large quantile 0.95';

CREATE TABLE hit AS
SELECT n / 10 AS search, n % 17 / 16.0 AS words_matched, n * 31 % 23 AS weeks_old, n % 5 = 0 AS sponsored,
       width_bucket(n % 17 / 16.0 - n * 31 % 23 / 40.0 + n * 7919 % 1000 / 3000.0, 0.1, 0.9, 3) AS relevance
FROM generate_series(0, 4999) n;

INSERT INTO models SELECT 'hits', btml.boost_fit('SELECT *, search >= 400 AS is_test FROM hit', 'relevance',
    objective => 'rank', query => 'search', holdout => 'is_test', trees => 50, max_leaves => 8);
SELECT round(avg(trees)::numeric, 3) AS trees, round(avg(words)::numeric, 3) AS most_words_first,
    round(avg(any_order)::numeric, 3) AS any_order
FROM (SELECT btml.ndcg(relevance, btml.predict(model, h.*), 5) AS trees, btml.ndcg(relevance, words_matched, 5) AS words,
             btml.ndcg(relevance, 0, 5) AS any_order
      FROM models, hit h WHERE name = 'hits' AND search >= 400 GROUP BY search) s;

INSERT INTO models SELECT 'with promotions', btml.boost_fit('
    SELECT s.quantity, t.region, t.area, i.kind, i.price, p.discount
    FROM sale s
    JOIN store t USING (store_id)
    JOIN item i USING (item_id)
    LEFT JOIN promotion p USING (item_id)', 'quantity');

SELECT btml.summary(model)->>'rows' AS rows, btml.summary(model)->>'strategy_reason' AS strategy
FROM models WHERE name = 'with promotions';

INSERT INTO models SELECT 'pairs', btml.boost_fit('
    SELECT s.quantity, i.price, i.kind, o.quantity AS other, p.day AS other_day
    FROM sale s JOIN item i USING (item_id) JOIN sale o USING (store_id) JOIN sale p USING (store_id)',
    'quantity', trees => 10, max_leaves => 8);
SELECT btml.summary(model)->>'rows' AS rows, btml.summary(model)->>'strategy' AS strategy, btml.summary(model)->>'strategy_reason' AS reason
FROM models WHERE name = 'pairs';

INSERT INTO models SELECT 'a sample of pairs', btml.boost_fit('
    SELECT s.quantity, i.price, i.kind, o.quantity AS other, p.day AS other_day
    FROM sale s JOIN item i USING (item_id) JOIN sale o USING (store_id) JOIN sale p USING (store_id)',
    'quantity', trees => 10, max_leaves => 8, strategy => 'sample', sample_rows => 100000);
SELECT name, btml.summary(model)->'sample_rows' AS sample_rows, btml.summary(model)->'join_rows' AS join_rows,
       round((btml.summary(model)#>>'{metrics,train_loss}')::numeric, 2) AS train_loss
FROM models WHERE name LIKE '%pairs' ORDER BY name;

SELECT m->'sketch_size' AS sketch_size, round((m->>'sketch_error')::numeric, 2) AS sketch_error,
    round((m->>'train_loss')::numeric, 1) AS train_loss
FROM btml.summary(btml.boost_fit('
    SELECT s.quantity, i.price, i.kind, p.discount FROM sale s JOIN item i USING (item_id) JOIN promotion p USING (item_id)',
    'quantity', trees => 3, max_leaves => 4, criterion => 'mse_sum', strategy => 'factorize',
    residuals => 'sketch', sketch_size => 20, verify => true)) s(summary), LATERAL (SELECT summary->'metrics') AS metrics(m);

SELECT node, parent, feature, threshold, categories, round(value::numeric, 2) AS value, rows, round(gain) AS gain
FROM btml.trees(btml.tree_fit('SELECT s.quantity, t.area, i.kind FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)',
                              'quantity', max_leaves => 3)) ORDER BY node;

SELECT t.region, round((btml.summary(btml.boost_fit_agg(s.quantity, ARRAY[t.area, i.price], '{"trees": 20}'))
                        #>> '{metrics,train_loss}')::numeric, 1) AS train_loss
FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id) GROUP BY t.region ORDER BY t.region;

INSERT INTO models SELECT 'quantity, 80 trees', btml.boost_fit('
    SELECT s.quantity, s.day, t.region, t.area, i.kind, i.price, s.day >= ''2025-06-01'' AS is_test
    FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)',
    target => 'quantity', holdout => 'is_test', trees => 30, start => model) FROM models WHERE name = 'quantity';

SELECT m.name, count(*) AS iterations, round(sqrt(min(l.holdout_loss))::numeric, 2) AS holdout_rmse
FROM models m, btml.training_log(m.model) l WHERE m.name IN ('quantity', 'quantity, 80 trees') GROUP BY m.name ORDER BY m.name;

SELECT btml.boost_fit('sale', 'quantty');

SELECT btml.boost_fit('sale', 'quantity', criterion => 'gini');

DROP VIEW churn, at_bats, salary, counted, called;
DROP TABLE store, item, sale, promotion, contract, call, models, player_season, forecast, batter, batting_side, salary_interval, hit;
\set QUIET on
DROP SCHEMA baseball CASCADE;
