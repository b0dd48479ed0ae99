-- Arguments as drivers send them: with the type that the language's value has, not with that of the parameter.
CREATE SCHEMA drivers;
SET search_path = drivers;
\set caught `echo "${PG_ABS_SRCDIR:-.}/sql/include/caught.sql"`
\i :caught
CREATE TABLE sent (parameter regtype, argument regtype);
INSERT INTO sent SELECT parameter::regtype, argument::regtype FROM (VALUES
    ('numeric', '{smallint,integer,bigint,numeric}'), ('bigint', '{smallint,integer,bigint}'),
    ('numeric[]', '{smallint[],integer[],bigint[],numeric[]}'),
    ('float8', '{smallint,integer,bigint,numeric,real,float8}'),
    ('float8[]', '{smallint[],integer[],bigint[],numeric[],real[],float8[]}'),
    ('text', '{text,varchar,unknown}'), ('text[]', '{text[],varchar[],unknown}'),
    ('name', '{text,varchar,unknown}'), ('name[]', '{text[],varchar[],unknown}'),
    ('btml.json', '{json,jsonb,unknown}'), ('interval', '{interval,unknown}'), ('interval[]', '{interval[],unknown}'),
    ('boolean', '{boolean,unknown}'), ('btml.model', '{btml.model}'), ('bytea', '{bytea}')) v(parameter, arguments),
    unnest(arguments::text[]) argument;

-- Each argument of each function and aggregate is sent as each of these types, beside NULLs of the parameters' own types.
CREATE FUNCTION is_found(called text, types oid[], place int, argument regtype) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    values text;
BEGIN
    SELECT string_agg(CASE WHEN i = place THEN CASE argument WHEN 'unknown'::regtype THEN 'NULL' ELSE 'NULL::' || argument END
        WHEN type = 'record'::regtype THEN 'row(1)'
        WHEN type = 'anyelement'::regtype THEN 'NULL::integer'
        ELSE 'NULL::' || type::regtype END, ', ' ORDER BY i)
    FROM unnest(types) WITH ORDINALITY t(type, i) INTO values;
    BEGIN
        EXECUTE format('PREPARE looked_up AS SELECT %s(%s)', called, values);
    EXCEPTION WHEN undefined_function OR ambiguous_function THEN
        RETURN false;
    END;
    DEALLOCATE looked_up;
    RETURN true;
END $$;
CREATE VIEW argument AS
SELECT p.oid, p.oid::regprocedure AS called, p.proname, t.types, a.place::int, a.type::regtype
FROM pg_proc p, LATERAL (SELECT proargtypes::oid[] AS types) t, unnest(t.types) WITH ORDINALITY a(type, place)
WHERE pronamespace = 'btml'::regnamespace AND prokind IN ('f', 'a');
-- A double for a count is found nowhere: it need not be whole.
SELECT is_found('btml.sumprod', ARRAY['text', 'text', 'text[]']::regtype[], 1, 'varchar') AS found,
    is_found('btml.sample_join', ARRAY['text', 'numeric', 'numeric', 'text[]']::regtype[], 2, 'float8') AS double;
SELECT count(*) > 400 AS tried FROM argument a JOIN sent s ON s.parameter = a.type;
SELECT called, a.type, s.argument FROM argument a JOIN sent s ON s.parameter = a.type
WHERE NOT is_found(format('btml.%I', proname), types, place, s.argument) ORDER BY 1, 2, 3;
SELECT DISTINCT type FROM argument WHERE type NOT IN (SELECT parameter FROM sent) ORDER BY 1;

-- Such counts count, and have a range.
CREATE TABLE point (id bigint, x float8);
INSERT INTO point SELECT i, i * i FROM generate_series(1, 50) i;
SELECT btml.exemplars_agg(id, ARRAY[x], 3::smallint) = btml.exemplars_agg(id, ARRAY[x], 3::bigint) AS exemplars_agg,
    btml.tensor_sketch_agg(x, ARRAY[id::text], 64::smallint, 7::smallint) =
    btml.tensor_sketch_agg(x, ARRAY[id::text], 64::bigint, 7::bigint) AS tensor_sketch_agg,
    btml.ndcg(id % 3, x, 5::smallint) = btml.ndcg(id % 3, x, 5::bigint) AS ndcg,
    btml.sumprod('SELECT x FROM point WHERE id <= $1', args => ARRAY['9']::varchar[]) AS sumprod FROM point;
SELECT prefix FROM btml.kernel_tail_profile('point', 'point', 3, prefixes => '{4,9}'::bigint[]);
SELECT prefix FROM btml.kernel_tail_profile('point', 'point', 3, prefixes => '{5.0,25}'::numeric[]);
SELECT caught($$SELECT btml.kernel_tail_profile('point', 'point', 3, prefixes => '{5.5}')$$);
SELECT caught($$SELECT btml.kernel_tail_profile('point', 'point', 3, prefixes => '{9223372036854775808}')$$);
SELECT caught($$SELECT btml.kernel_tail_profile('point', 'point', 3, prefixes => '{0}')$$);
SELECT caught($$SELECT btml.exemplars_agg(id, ARRAY[x], 3000000000) FROM point$$);
SELECT caught($$SELECT btml.ndcg(id % 3, x, -3000000000) FROM point$$);
SELECT caught($$SELECT btml.tensor_sketch_agg(x, ARRAY[id::text], 3000000000, 1) FROM point$$);
