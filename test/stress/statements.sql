-- Statements that take long and much memory, for cancels and limits.
CREATE TABLE attack.large AS
SELECT i AS id, i % 1000 AS k, (i::bigint * 7919 % 100003) / 1000.0 AS a, (i::bigint * 104729 % 65537) / 1000.0 AS b, 'label ' || i % 5000 AS c,
    sin(i) + i % 7 AS y
FROM generate_series(1, 200000) i;
CREATE TABLE attack.label AS SELECT k, k * 7 % 31 AS e FROM generate_series(0, 999) k, generate_series(1, 3);
CREATE TABLE attack.large_model AS
SELECT btml.boost_fit('SELECT a, b, c, y FROM attack.large', 'y', trees => 300, max_leaves => 500, min_leaf_rows => 5) AS model;
ANALYZE;

CREATE FUNCTION attack.long_statement(seed bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    statements text[] := ARRAY[
        $q$SELECT btml.boost_fit('SELECT a, b, c, y FROM attack.large', 'y')$q$,
        $q$SELECT btml.boost_fit('SELECT a, b, c, y, e FROM attack.large JOIN attack.label USING (k)', 'y', trees => 20)$q$,
        $q$SELECT btml.boost_fit('SELECT a, b, y, e FROM attack.large JOIN attack.label USING (k)', 'y', strategy => 'factorize', trees => 20)$q$,
        $q$SELECT btml.gp_fit('SELECT a, b, y FROM attack.large', 'y')$q$,
        $q$SELECT btml.gp_fit('SELECT a, b, c, y FROM attack.large LIMIT 20000', 'y', combine => 'kernel_sum')$q$,
        $q$SELECT btml.sumprod('SELECT a, e FROM attack.large JOIN attack.label USING (k)')$q$,
        $q$SELECT count(*) FROM btml.sumprod_by('SELECT id, a, e FROM attack.large JOIN attack.label USING (k)', '{id}') AS t(id int, value float8)$q$,
        $q$SELECT btml.sketch_norm('SELECT a + e AS v FROM attack.large JOIN attack.label USING (k)', 'v')$q$,
        $q$SELECT count(*) FROM btml.kernel_sum('SELECT a, b FROM attack.large', 'SELECT a, b FROM attack.large', 0.5)$q$,
        $q$SELECT count(*) FROM btml.density('SELECT a, b FROM attack.large', 'SELECT a, b FROM attack.large LIMIT 5000', 0.5, method => 'exact')$q$,
        $q$SELECT count(*) FROM btml.attention('SELECT a, b, y FROM attack.large', 'SELECT a, b FROM attack.large LIMIT 5000', 'y')$q$,
        $q$SELECT * FROM btml.select_bandwidth('SELECT a, b, y FROM attack.large', 'kr', 'y')$q$,
        $q$SELECT * FROM btml.select_bandwidth('SELECT a, b FROM attack.large', 'likelihood')$q$,
        $q$SELECT btml.kcde_score('SELECT a, b, y FROM attack.large', 'y', 1, 1)$q$,
        $q$SELECT count(*) FROM btml.exemplars('SELECT id, a, b FROM attack.large', 100)$q$,
        $q$SELECT count(*) FROM btml.exemplars('SELECT id, a, b, y FROM attack.large', 50, objective => 'prediction', target => 'y')$q$,
        $q$SELECT count(e) FROM (SELECT btml.exemplars_agg(id, ARRAY[a, b], 2) AS e FROM attack.large GROUP BY id % 20000) AS groups$q$,
        $q$SELECT count(m) FROM (SELECT btml.boost_fit_agg(y, ARRAY[a, b]) AS m FROM attack.large GROUP BY k) AS groups$q$,
        $q$SELECT length(btml.to_sql(model)) FROM attack.large_model$q$,
        $q$SELECT count(*) FROM attack.large_model, btml.trees(model)$q$,
        $q$SELECT (model::text)::btml.model OPERATOR(btml.=) model FROM attack.large_model$q$,
        $q$SELECT sum(btml.predict(model, l)) FROM attack.large_model, attack.large l$q$,
        $q$SELECT btml.approx_sum('SELECT a FROM attack.large')$q$];
BEGIN
    RETURN statements[1 + seed % cardinality(statements)];
END $$;

-- A statement under a limit of memory stays near it, and what is refused is refused by the limit.
CREATE FUNCTION attack.limits(seed bigint) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    statement text := attack.long_statement(seed);
    allowed_kb int;
    before_kb int;
    after_kb int;
BEGIN
    PERFORM setseed(seed % 100000 / 100000.0);
    allowed_kb := 64 * 2 ^ floor(random() * 12);
    PERFORM set_config('btml.memory_limit', allowed_kb || 'kB', true);
    PERFORM set_config('jit', 'off', true);
    before_kb := attack.peak_kb();
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
        IF SQLSTATE NOT IN ('53200', '54000') THEN RETURN NEXT format('%s %s under %s kB: %s', SQLSTATE, SQLERRM, allowed_kb, statement); END IF;
    END;
    after_kb := attack.peak_kb();
    IF after_kb - before_kb > allowed_kb + 32 * 1024 THEN
        RETURN NEXT format('%s kB taken where %s kB are allowed: %s', after_kb - before_kb, allowed_kb, statement);
    END IF;
END $$;

-- The most memory of its own that the session has had, but for shared buffers and mapped files.
CREATE FUNCTION attack.peak_kb() RETURNS int LANGUAGE sql VOLATILE AS $$
SELECT (regexp_match(status, 'VmHWM:\s*(\d+)'))[1]::int - (regexp_match(status, 'RssFile:\s*(\d+)'))[1]::int - (regexp_match(status, 'RssShmem:\s*(\d+)'))[1]::int
FROM pg_read_file('/proc/self/status') AS status $$;
