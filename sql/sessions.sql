-- What a model makes of a value does not depend on the session that trained it, nor on the one that predicts.
CREATE SCHEMA sessions;
SET search_path = sessions, public;
SET client_min_messages = warning;

\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught

-- A point in time that is given as another type is what PostgreSQL's cast makes of it in the session's time zone.
CREATE TABLE moment AS SELECT i AS id, timestamptz '2024-03-09 20:00:00+00' + i * interval '1 hour' AS zoned, timestamp '2024-03-09 20:00:00' + i * interval '1 hour' AS local,
    date '2024-03-09' + i AS day, i % 2 AS other, i AS y FROM generate_series(1, 48) i;
CREATE TABLE of_time AS SELECT kind, source, CASE WHEN kind ~ 'trees' THEN btml.tree_fit(sql, 'y', max_leaves => 0, min_leaf_rows => 1) ELSE btml.gp_fit(sql, 'y', kernel => 'matern52', mean => 'zero') END AS model
FROM (VALUES ('trees'), ('process')) k(kind), (VALUES ('zoned'), ('local'), ('day')) s(source), format('SELECT %I AS x, other, y FROM sessions.moment', source) sql;
CREATE TYPE zoned_row AS (x timestamptz, other int);
CREATE TABLE given AS SELECT id, local, local::date AS day, local AT TIME ZONE 'Asia/Tokyo' AS zoned, other, y FROM moment;
CREATE FUNCTION answers(model btml.model, sql text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text; parts text[] := '{}'; is_process boolean := btml.summary(model)->>'kind' ~ 'gaussian';
    call text; calls text[] := ARRAY['SELECT array_agg(btml.predict($1, s) ORDER BY id)::text FROM (%1$s) s'] || CASE WHEN is_process
    THEN ARRAY['SELECT array_agg(btml.predict_normal($1, s) ORDER BY id)::text FROM (%1$s) s', 'SELECT btml.gp_update($1, s, 3)::text FROM (%1$s) s WHERE id = 5',
        'SELECT btml.gp_downdate(btml.gp_update($1, s, 3), s, 3)::text FROM (%1$s) s WHERE id = 5', 'SELECT array_agg(value ORDER BY row_number)::text FROM btml.gp_sample($1, %1$L)']
    ELSE ARRAY['SELECT array_agg(btml.shap($1, s) ORDER BY id)::text FROM (%1$s) s', 'SELECT array_agg(btml.predict_leaf($1, s) ORDER BY id)::text FROM (%1$s) s',
        'SELECT array_agg(contribution ORDER BY id, feature)::text FROM (%1$s) s, btml.explain($1, s)', 'SELECT array_agg(contribution ORDER BY id, feature, other)::text FROM (%1$s) s, btml.shap_interactions($1, s) i(feature, other2, contribution)',
        'SELECT array_agg(i ORDER BY feature)::text FROM btml.shap_importance($1, %1$L) i', 'SELECT array_agg(i ORDER BY feature)::text FROM btml.permutation_importance($1, %1$L, ''y'') i',
        'SELECT array_agg(p.mean)::text FROM btml.partial_dependence($1, %1$L, ''x'') p', 'SELECT array_agg(' || btml.to_sql(model) || ' ORDER BY id)::text FROM (%1$s) s'] END;
BEGIN
    FOREACH call IN ARRAY calls LOOP
        EXECUTE format(call, sql) INTO STRICT answer USING model;
        parts := parts || answer;
    END LOOP;
    RETURN md5(parts::text);
END $$;
CREATE FUNCTION reads_as_cast(wanted text, type text) RETURNS TABLE (kind text, given text, as_cast boolean) LANGUAGE sql AS $$
    SELECT m.kind, g, answers(m.model, format('SELECT id, %I AS x, other, y FROM sessions.given', g)) = answers(m.model, format('SELECT id, %I::%s AS x, other, y FROM sessions.given', g, type))
    FROM of_time m, unnest('{zoned,local,day}'::text[]) g WHERE m.source = wanted ORDER BY 1, 2 $$;
SET timezone = 'America/New_York';
SELECT wanted, r.* FROM (VALUES ('zoned', 'timestamptz'), ('local', 'timestamp'), ('day', 'date')) w(wanted, type), reads_as_cast(wanted, type) r ORDER BY 1, 2, 3;
SET timezone = 'Asia/Kolkata';
SELECT wanted, bool_and(as_cast) AS as_cast FROM (VALUES ('zoned', 'timestamptz'), ('local', 'timestamp'), ('day', 'date')) w(wanted, type), reads_as_cast(wanted, type) r GROUP BY 1 ORDER BY 1;
-- The hour that a change of the clocks leaves out, and the ends of time.
SET timezone = 'America/New_York';
SELECT x, btml.predict(model, r) AS predicted, btml.predict(model, ROW(x::timestamptz, 0)::zoned_row) AS of_cast
FROM of_time, LATERAL (SELECT x, 0 AS other FROM (VALUES (timestamp '2024-03-10 02:30'), ('-infinity'), ('infinity')) v(x)) r WHERE kind = 'trees' AND source = 'zoned';
RESET timezone;
