-- The examples of contrib_docs/gp.md.
CREATE TABLE reading AS
SELECT n AS reading_id, n % 3 AS building, (n * 37 % 240) / 10.0 AS hour, (n * 53 % 350) / 10.0 - 5 AS outdoor,
       (ARRAY['office', 'school', 'home'])[1 + n * 31 % 3] AS kind
FROM generate_series(1, 3000) n;
ALTER TABLE reading ADD COLUMN load float8;
UPDATE reading SET load = 20 + 10 * sin(hour / 24 * 2 * pi()) + 0.02 * (outdoor - 18) ^ 2
    + CASE kind WHEN 'office' THEN 8 WHEN 'school' THEN 3 ELSE 0 END
    + (reading_id * 7919 % 101 + reading_id * 10473 % 97 + reading_id * 15485 % 89 - 142) / 40.0;

CREATE TABLE models (name text PRIMARY KEY, model btml.model);

INSERT INTO models SELECT 'load', btml.gp_fit('SELECT load, hour, outdoor, kind FROM reading', 'load');

SELECT x.hour, x.outdoor, x.kind, round(p.mean::numeric, 1) AS mean, round(p.sd::numeric, 2) AS sd
FROM models, (VALUES (9.0, 21.0, 'office'), (18.0, -4.5, 'home'), (3.0, 29.5, 'school')) x(hour, outdoor, kind),
     LATERAL btml.predict_normal(model, x) p
WHERE name = 'load';

SELECT n, round(mean_nll::numeric, 2) AS mean_nll, round(rmse::numeric, 2) AS rmse, round(coverage_90::numeric, 2) AS coverage_90
FROM models, btml.gp_leave_one_out(model) WHERE name = 'load';

SELECT feature, round(weight::numeric, 1) AS weight FROM models, btml.gp_relevance(model) WHERE name = 'load';

INSERT INTO models SELECT 'smooth', btml.gp_fit('SELECT load, hour, outdoor, kind FROM reading', 'load', kernel => 'matern52',
    exemplars => 100);
SELECT name, round(rmse::numeric, 2) AS rmse, round(mean_nll::numeric, 2) AS mean_nll, round(coverage_90::numeric, 2) AS coverage_90
FROM models, btml.gp_leave_one_out(model) WHERE name IN ('load', 'smooth') ORDER BY name;

INSERT INTO models SELECT mean,
    btml.gp_fit('SELECT load + CASE WHEN hour BETWEEN 7 AND 17 AND outdoor > 3 THEN 15 ELSE 0 END AS load, hour, outdoor, kind
    FROM reading', 'load', mean => mean, combine => 'mixture')
FROM unnest('{zero,boosted}'::text[]) mean;
SELECT name, m#>>'{trees,of_mean}' AS trees, round((m#>>'{leave_one_out,rmse}')::numeric, 2) AS rmse,
    round((m#>>'{leave_one_out,mean_nll}')::numeric, 2) AS mean_nll
FROM models, LATERAL (SELECT btml.summary(model)->'metrics') s(m) WHERE name IN ('zero', 'boosted') ORDER BY name;

INSERT INTO models SELECT name,
    btml.gp_fit('SELECT hour, outdoor, kind, load + CASE
    WHEN outdoor > 15 THEN (reading_id * 6151 % 103 + reading_id * 12289 % 107 - 104) / 8.0 ELSE 0 END AS load FROM reading', 'load',
    kernel => 'matern52', exemplars => 100, varying_noise => name = 'varying') FROM unnest('{same,varying}'::text[]) name;

SELECT name, x.outdoor, round(p.sd::numeric, 1) AS sd, round(s.mean_nll::numeric, 2) AS mean_nll
FROM models, (VALUES (9.0, 5.0, 'office'), (9.0, 25.0, 'office')) x(hour, outdoor, kind), LATERAL btml.predict_normal(model, x) p,
    LATERAL btml.gp_leave_one_out(model) s
WHERE name IN ('same', 'varying') ORDER BY name, outdoor;

SELECT round(avg((abs(r.load - p.mean) < 1.645 * p.sd)::int)::numeric, 2) AS within_90
FROM btml.gp_fit('SELECT load, hour, outdoor, kind FROM reading WHERE reading_id % 5 <> 0', 'load') fit,
     reading r, LATERAL btml.predict_normal(fit, r) p
WHERE r.reading_id % 5 = 0;

SELECT building, round(n.rmse::numeric, 2) AS rmse
FROM (SELECT building, btml.gp_fit_agg(load, ARRAY[hour, outdoor], '{"combine": "mixture", "evaluations": 500}') AS model
      FROM reading GROUP BY building) m, LATERAL btml.gp_leave_one_out(m.model) n ORDER BY building;

SELECT id, round(mean::numeric, 1) AS mean, round(sd::numeric, 2) AS sd
FROM btml.gp_regression('SELECT load, hour, outdoor, kind FROM reading', 'load',
                        'SELECT kind AS id, 12.0 AS hour, 20.0 AS outdoor, kind FROM (VALUES (''home''), (''office'')) v(kind)');

INSERT INTO models SELECT 'current', btml.gp_fit('SELECT load, hour, outdoor FROM reading', 'load', mean => 'zero', combine => 'mixture',
    evaluations => 500);

CREATE FUNCTION keep_current() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE models SET model = btml.gp_update(model, NEW, NEW.load) WHERE name = 'current';
    RETURN NULL;
END $$;
CREATE TRIGGER keep_current AFTER INSERT ON reading FOR EACH ROW WHEN (NEW.load IS NOT NULL) EXECUTE FUNCTION keep_current();

SELECT btml.summary(model)->>'rows' AS rows, round((btml.predict_latent(model, ARRAY[9.0, 21.0])).sd::numeric, 3) AS sd FROM models
    WHERE name = 'current';

INSERT INTO reading SELECT 3000 + n, 1, 9.0, 21.0, 'office', 37 + n % 3 FROM generate_series(1, 20) n;

SELECT btml.summary(model)->>'rows' AS rows, round((btml.predict_latent(model, ARRAY[9.0, 21.0])).sd::numeric, 3) AS sd FROM models
    WHERE name = 'current';

SELECT draw, round(max(value)::numeric, 1) AS peak, round((array_agg(id ORDER BY value DESC))[1]::numeric) AS at_hour
FROM models, btml.gp_sample(model, 'SELECT h AS id, h::float8 AS hour, 10.0 AS outdoor FROM generate_series(0, 23) h', draws => 3)
WHERE name = 'current' GROUP BY draw ORDER BY draw;

DROP TABLE models, reading;
DROP FUNCTION keep_current();
