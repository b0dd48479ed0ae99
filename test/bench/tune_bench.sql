-- How much the score of the best trial flatters, beside rows that no trial saw: the table of contrib_docs/validation.md.
-- Six random features, a target of sin(4 x1) + x2 x3 with normal noise of standard deviation 1; 20 data sets, of 5,000
-- rows 10. Run it in a database with btml; it makes the schema tune_bench and takes some minutes.
\set QUIET on
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE SCHEMA tune_bench;
SET search_path = tune_bench;
CREATE TABLE result (rows int, trials int, score float8, holdout_score float8);
CREATE FUNCTION tune(rows int, trials int, set int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setseed(set / 1000.0);
    DROP TABLE IF EXISTS tune_bench.drawn;
    CREATE TABLE tune_bench.drawn AS
    SELECT i > rows AS held, x1, x2, x3, x4, x5, x6,
           sin(4 * x1) + x2 * x3 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS y
    FROM (SELECT i, random() AS x1, random() AS x2, random() AS x3, random() AS x4, random() AS x5, random() AS x6
          FROM generate_series(1, rows + 20000) i) features;
    INSERT INTO result SELECT rows, trials, score, holdout_score FROM btml.tune('drawn', 'y',
        '{"learning_rate": {"from": 0.02, "to": 0.3, "scale": "log"}, "max_leaves": {"from": 2, "to": 31},
          "min_leaf_rows": {"from": 1, "to": 40}, "l2": {"from": 0, "to": 20}, "row_fraction": {"from": 0.4, "to": 1},
          "feature_fraction": {"from": 0.3, "to": 1}}',
        trials => trials, options => '{"trees": 60}', holdout => 'held', seed => set) WHERE best;
END $$;
SELECT tune(rows, trials, set) FROM (VALUES (200), (1000), (5000)) r(rows), (VALUES (1), (50)) t(trials),
    generate_series(1, 20) set WHERE rows < 5000 OR set <= 10 \g /dev/null
SELECT rows, trials, count(*) AS sets, round(avg(score)::numeric, 3) AS score,
       round(avg(holdout_score)::numeric, 3) AS holdout_score,
       round((100 * avg(holdout_score / score - 1))::numeric, 1) AS percent_worse,
       round((100 * stddev(holdout_score / score - 1) / sqrt(count(*)))::numeric, 1) AS std_error
FROM result GROUP BY rows, trials ORDER BY rows, trials;
DROP SCHEMA tune_bench CASCADE;
