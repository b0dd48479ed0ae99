-- The examples of contrib_docs/relational.md.
SET datestyle = 'ISO';
CREATE TABLE store (store_id int PRIMARY KEY, region text, area float8);
CREATE TABLE item (item_id int PRIMARY KEY, kind text, price numeric);
CREATE TABLE sale (store_id int, item_id int, day date, quantity int);
CREATE TABLE promotion (item_id int, discount float8);
INSERT INTO store VALUES (1, 'north', 120), (2, 'north', 80), (3, 'south', 200);
INSERT INTO item VALUES (1, 'tea', 2.50), (2, 'tea', 4.00), (3, 'cup', 9.90), (4, 'pot', 25.00);
INSERT INTO sale SELECT 1 + i % 3, 1 + i % 4, date '2025-01-01' + i % 90, 1 + i % 5 FROM generate_series(1, 1000) i;
INSERT INTO promotion VALUES (1, 0.1), (1, 0.2), (3, 0.5);

SELECT btml.sumprod('SELECT s.quantity, i.price FROM sale s JOIN item i USING (item_id)') AS turnover;

SELECT sum(s.quantity * i.price) AS turnover FROM sale s JOIN item i USING (item_id);

SELECT btml.sumprod('SELECT FROM sale JOIN item USING (item_id) JOIN promotion USING (item_id)') AS rows;

SELECT btml.sumprod_exact('SELECT s.quantity, i.price FROM sale s JOIN item i USING (item_id)') AS turnover;

SELECT * FROM btml.sumprod_by(
    'SELECT t.region, s.quantity, i.price FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id)',
    group_by => '{region}') AS t(region text, value float8) ORDER BY region;

SELECT btml.sumprod('SELECT p.discount, s.quantity FROM sale s JOIN promotion p USING (item_id)', semiring => 'max_product')
       AS most_discounted_units;

SELECT t.region, btml.sumprod_agg(ARRAY[s.quantity, i.price]::float8[]) AS turnover
FROM sale s JOIN store t USING (store_id) JOIN item i USING (item_id) GROUP BY t.region ORDER BY t.region;

SELECT btml.sumprod('
    SELECT s.quantity, i.price FROM sale s JOIN item i USING (item_id) WHERE i.kind = $1 AND s.day >= $2',
    args => ARRAY['tea', '2025-02-01']) AS turnover;

CREATE TABLE region_model AS
SELECT region, btml.boost_fit('
    SELECT s.quantity * i.price AS turnover, s.quantity, i.kind
    FROM sale s JOIN item i USING (item_id) JOIN store t USING (store_id)
    WHERE t.region = $1 AND s.day < $2',
    'turnover', trees => 20, args => ARRAY[region, '2025-03-01']) AS model
FROM (SELECT DISTINCT region FROM store) AS regions;
SELECT region, btml.describe(model) FROM region_model ORDER BY region;

CREATE FUNCTION turnover_of(kind text, since date) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    RETURN btml.sumprod('
        SELECT s.quantity, i.price FROM sale s JOIN item i USING (item_id) WHERE i.kind = $1 AND s.day >= $2',
        args => ARRAY[kind, since::text]);
END $$;
SELECT turnover_of('cup', '2025-03-01') AS turnover;

PREPARE turnover_since(text, date) AS
SELECT btml.sumprod('SELECT s.quantity, i.price FROM sale s JOIN item i USING (item_id) WHERE i.kind = $1 AND s.day >= $2',
    args => ARRAY[$1, $2::text]) AS turnover;
EXECUTE turnover_since('cup', '2025-03-01');

SELECT * FROM btml.sample_join(
    'SELECT s.day, i.kind, i.price, p.discount FROM sale s JOIN item i USING (item_id) LEFT JOIN promotion p USING (item_id)',
    n => 5) AS t(day date, kind text, price numeric, discount float8);

SELECT count(*) AS sampled, round(avg((discount IS NOT NULL)::int), 2) AS promoted
FROM btml.sample_join('SELECT p.discount FROM sale s LEFT JOIN promotion p USING (item_id)', 400) AS t(discount float8);

SELECT round(avg((discount IS NOT NULL)::int), 2) AS promoted
FROM sale s LEFT JOIN promotion p USING (item_id);

SELECT round(value) AS value, round(std_error) AS std_error, round(lower) AS lower, round(upper) AS upper, evaluations
FROM btml.sketch_norm('SELECT s.quantity FROM sale s JOIN item USING (item_id) JOIN promotion USING (item_id)', 'quantity');

SELECT sum(s.quantity ^ 2) FROM sale s JOIN item USING (item_id) JOIN promotion USING (item_id);

SELECT round(value) AS value, evaluations
FROM btml.sketch_norm('SELECT s.quantity FROM sale s JOIN item USING (item_id)', 'quantity', sketch_size => 2000, verify => true);

CREATE TABLE daily AS
SELECT day, btml.tensor_sketch_agg(1, ARRAY[store_id, item_id, quantity]::text[], 1000, 1) AS sketch
FROM sale GROUP BY day;

SELECT round(sum(btml.sketch_inner(a.sketch, b.sketch)) FILTER (WHERE b.day < '2025-02-01')) AS within_january,
       round(sum(btml.sketch_inner(a.sketch, b.sketch)) FILTER (WHERE b.day >= '2025-03-01')) AS january_with_march
FROM daily a, daily b WHERE a.day < '2025-02-01';

SELECT count(*) FILTER (WHERE b.day < '2025-02-01') AS within_january,
       count(*) FILTER (WHERE b.day >= '2025-03-01') AS january_with_march
FROM sale a JOIN sale b USING (store_id, item_id, quantity) WHERE a.day < '2025-02-01';

SELECT * FROM btml.explain_join('
    SELECT s.quantity, i.price, t.area, p.discount
    FROM sale s
    JOIN item i USING (item_id)
    JOIN store t USING (store_id)
    LEFT JOIN promotion p ON p.item_id = i.item_id
    WHERE s.day >= ''2025-02-01''');

SELECT * FROM btml.explain_join('
    SELECT s.quantity * i.price AS turnover, t.area
    FROM sale s JOIN item i USING (item_id) JOIN store t USING (store_id)');

CREATE TABLE offer (supplier_id int, item_id int, cost float8);
CREATE TABLE serves (supplier_id int, store_id int);
INSERT INTO offer SELECT s, i, s / 10.0 + i FROM generate_series(1, 20) s, generate_series(1, 4) i WHERE (s + i) % 3 <> 0;
INSERT INTO serves SELECT s, t FROM generate_series(1, 20) s, generate_series(1, 3) t WHERE (s + t) % 4 > 0;
SELECT * FROM btml.explain_join('
    SELECT FROM sale JOIN offer USING (item_id) JOIN serves USING (store_id, supplier_id)');

SELECT btml.sumprod('SELECT s.quantity, o.cost FROM sale s JOIN offer o USING (item_id)
    JOIN serves USING (store_id, supplier_id)') AS total_cost;

SELECT btml.sumprod('SELECT s.quantity, i.prize FROM sale s JOIN item i USING (item_id)');

DROP FUNCTION turnover_of;
DROP TABLE store, item, sale, promotion, offer, serves, daily, region_model;
