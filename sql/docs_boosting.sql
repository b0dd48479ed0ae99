-- The examples of contrib_docs/boosting.md.
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

INSERT INTO models SELECT 'busy', btml.boost_fit('
    SELECT s.quantity > 120 AS busy, t.area, i.kind, i.price
    FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)', 'busy', trees => 30);
SELECT area, kind, price, round(btml.predict(m.model, x.*)::numeric, 3) AS probability, btml.predict_class(m.model, x.*) AS class
FROM models m, (VALUES (60, 'tea', 20), (130, 'tea', 62), (200, 'cup', 80)) x(area, kind, price) WHERE m.name = 'busy';

INSERT INTO models SELECT 'kind', btml.boost_fit('
    SELECT i.kind, i.price, t.area, s.quantity
    FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)', 'kind', trees => 20);
SELECT btml.summary(m.model)->'labels' AS labels, btml.predict_class(m.model, x.*) AS class, round(btml.predict_probability(m.model, x.*, 'tea')::numeric, 3) AS tea
FROM models m, (VALUES (20, 60, 140), (80, 200, 100)) x(price, area, quantity) WHERE m.name = 'kind';

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

SELECT m->'sketch_size' AS sketch_size, round((m->>'sketch_error')::numeric, 2) AS sketch_error, round((m->>'train_loss')::numeric, 1) AS train_loss
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

SELECT btml.boost_fit('sale', 'quantty');

SELECT btml.boost_fit('sale', 'quantity', criterion => 'gini');

DROP TABLE store, item, sale, promotion, models;
