-- Scores that are sampled against exact ones, and those that a Gaussian process says of itself against held-out rows, on
-- points of random shapes.
CREATE TABLE attack.shape AS SELECT * FROM (VALUES ('even'), ('normal'), ('lognormal'), ('clustered'), ('repeated'), ('outliers')) v(shape);

CREATE FUNCTION attack.normal() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())';

CREATE FUNCTION attack.coordinate(shape text, center float8) RETURNS float8 LANGUAGE sql VOLATILE AS $$
    SELECT CASE shape WHEN 'even' THEN random() WHEN 'lognormal' THEN exp(attack.normal()) WHEN 'clustered' THEN center + attack.normal() / 10
        WHEN 'repeated' THEN round(attack.normal() * 3) / 3 ELSE attack.normal() END
$$;

-- Three coordinates, a target with noise of a random size, of which a few may be far off.
CREATE FUNCTION attack.make_points(shape text, rows int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    noise float8 := 10 ^ (-2 * random());
BEGIN
    DROP TABLE IF EXISTS attack.points;
    CREATE TABLE attack.points AS
    SELECT i, a, b, c, sin(2 * a) + b / (1 + b * b) + noise * attack.normal()
        + CASE WHEN shape = 'outliers' AND i <= 8 THEN 20 * attack.normal() ELSE 0 END AS y
    FROM (SELECT i, attack.coordinate(shape, i % 9) AS a, attack.coordinate(shape, i % 7) AS b, attack.coordinate(shape, i % 5) AS c
          FROM generate_series(1, rows) i) p;
END $$;

-- A sample keeps to its error in 95 of 100 cases: three times as much is wrong. The error of a likelihood is absolute.
CREATE FUNCTION attack.compare_score(score text, columns text, arguments text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    call text := format('btml.%s(''SELECT %s FROM attack.points'', %s, method => ', score, columns, arguments);
    exact btml.estimate;
    sampled btml.estimate;
    error float8;
    unit float8;
BEGIN
    EXECUTE format('SELECT (%s''exact'')).*', call) INTO exact;
    EXECUTE format('SELECT (%s''sampled'')).*', call) INTO sampled;
    error := abs(sampled.value - exact.value);
    unit := CASE score WHEN 'likelihood_score' THEN 1 ELSE abs(exact.value) END;
    IF error <= 0.3 * unit OR error <= 4 * sampled.std_error THEN RETURN NULL; END IF;
    RETURN format('%s''sampled'') is %s instead of %s, with a standard error of %s', call, sampled.value, exact.value, sampled.std_error);
END $$;

CREATE FUNCTION attack.scores(seed bigint) RETURNS SETOF text LANGUAGE plpgsql SET client_min_messages = warning AS $$
DECLARE
    shape text;
    bandwidth float8;
    model btml.model;
    held_out float8;
    left_out float8;
BEGIN
    PERFORM setseed(seed % 100000 / 100000.0);
    SELECT s.shape INTO shape FROM attack.shape s ORDER BY random() LIMIT 1;
    PERFORM attack.make_points(shape, 3000 + (5000 * random())::int);
    bandwidth := 10 ^ (-1.5 + 1.7 * random());
    RETURN QUERY SELECT shape || ': ' || wrong FROM (VALUES
        (attack.compare_score('kr_score', 'a, b, c, y', format('''y'', %s', bandwidth))),
        (attack.compare_score('kcde_score', 'a, b, c, y', format('''y'', %s, %s', bandwidth, 10 ^ (-1 + random())))),
        (attack.compare_score('kde_score', 'a, b, c', bandwidth::text)),
        (attack.compare_score('likelihood_score', 'a, b, c', bandwidth::text))) v(wrong) WHERE wrong IS NOT NULL;
    IF shape <> 'outliers' THEN
        model := btml.gp_fit('SELECT a, b, c, y, i % 4 = 0 AS held_out FROM attack.points', 'y', holdout => 'held_out', seed => seed);
        held_out := btml.summary(model)->'metrics'->'holdout_nll';
        left_out := (SELECT mean_nll FROM btml.gp_leave_one_out(model));
        IF abs(held_out - left_out) > 0.2 THEN
            RETURN NEXT format('%s: gp_fit has a mean_nll of %s where rows are left out, of %s where they are held out', shape, left_out, held_out);
        END IF;
    END IF;
END $$;
