-- The examples of contrib_docs/models.md.
CREATE TABLE flat (size_m2 float8, rooms int, kind text, rent float8);
INSERT INTO flat SELECT 20 + i * 37 % 120, 1 + i % 5, CASE i % 3 WHEN 0 THEN 'loft' ELSE 'flat' END,
    300 + 9 * (20 + i * 37 % 120) + 50 * (i % 5)
FROM generate_series(1, 2000) i;
CREATE TABLE models (name text PRIMARY KEY, model btml.model);

INSERT INTO models SELECT 'rent', btml.boost_fit('flat', 'rent', trees => 20, learning_rate => 0.3);
SELECT name, btml.describe(model) FROM models;

SELECT DISTINCT f.size_m2, f.rooms, f.kind, f.rent, round(btml.predict(m.model, f.*)::numeric, 1) AS predicted
FROM flat f, models m WHERE m.name = 'rent' ORDER BY f.size_m2, f.rooms LIMIT 3;

SELECT round(btml.predict(model, x)::numeric, 1) AS predicted
FROM models, (SELECT 85::float8 AS size_m2, 3 AS rooms, 'loft' AS kind) x;

CREATE TYPE home AS (size_m2 float8, rooms int, kind text);
SELECT round(btml.predict(model, ROW(85, 3, 'loft')::home)::numeric, 1) AS predicted FROM models;
CREATE VIEW scored AS
SELECT f.*, btml.predict((SELECT model FROM models WHERE name = 'rent'), f.*) AS predicted FROM flat f;
SELECT kind, count(*) AS flats, round(btml.mae(rent, predicted)::numeric, 1) AS mae FROM scored GROUP BY kind ORDER BY kind;

SELECT round(btml.predict(model, ARRAY[85, 3, 1])::numeric, 1) AS predicted, btml.summary(model)->'features' AS features FROM models;

SELECT btml.summary(model)->'metrics'->>'trees' AS trees, btml.summary(model)->>'rows' AS rows, btml.summary(model)->>'target' AS target
FROM models;

SELECT btml.predict(model, x) FROM models, (SELECT 85 AS size, 3 AS rooms, 'loft' AS kind) x;

CREATE TABLE wine (id int, scent real[], price float8, points float8);
INSERT INTO wine SELECT i, ARRAY[sin(i), cos(i), sin(i * 2.1)], 10 + i % 30, 80 + 5 * sin(i) - 3 * sin(i * 2.1) + i % 30 / 10.0
FROM generate_series(1, 500) i;
CREATE TABLE tasted AS SELECT btml.boost_fit('SELECT scent, price, points FROM wine', 'points', trees => 30) AS model;
SELECT btml.feature_names(model), round(btml.predict(model, w.*)::numeric, 1) AS predicted, round(points::numeric, 1) AS points
FROM tasted, wine w WHERE id = 7;

SELECT e.feature, e.value, round(e.contribution::numeric, 2) AS contribution
FROM tasted, wine w, btml.explain(model, w.*) e WHERE id = 7;

SELECT feature, round(gain::numeric) AS gain, splits FROM tasted, btml.feature_importance(model, elements => true);

SELECT btml.predict(model, x) FROM tasted, (SELECT ARRAY[0.5, 0.5] AS scent, 20 AS price) x;

CREATE TABLE advert (id int, size_m2 float8, rooms int, kind text, fair_rent float8);
CREATE FUNCTION add_fair_rent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.fair_rent := btml.predict((SELECT model FROM models WHERE name = 'rent'), NEW);
    RETURN NEW;
END $$;
CREATE TRIGGER add_fair_rent BEFORE INSERT OR UPDATE ON advert FOR EACH ROW EXECUTE FUNCTION add_fair_rent();
INSERT INTO advert VALUES (1, 85, 3, 'loft') RETURNING id, round(fair_rent::numeric, 1) AS fair_rent;

SELECT btml.to_sql(btml.tree_fit('SELECT rent, size_m2, kind FROM flat', 'rent', max_leaves => 3)) AS expression;

DO $$
BEGIN
    EXECUTE format('CREATE VIEW scored_without_btml AS SELECT *, %s AS predicted FROM flat',
                   (SELECT btml.to_sql(model) FROM models WHERE name = 'rent'));
END $$;

SELECT count(*) AS different FROM scored s JOIN scored_without_btml w USING (size_m2, rooms, kind) WHERE s.predicted <> w.predicted;

SELECT model::bytea::btml.model::text = model::text AS same FROM models;

SELECT a.name, b.name AS same_as FROM models a JOIN models b ON a.model OPERATOR(btml.=) b.model;

SELECT '\xdeadbeef'::bytea::btml.model;

DROP VIEW scored, scored_without_btml;
DROP TABLE flat, models, advert, wine, tasted;
DROP TYPE home;
DROP FUNCTION add_fair_rent();
