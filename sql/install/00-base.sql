-- The schema, version and progress.

-- Names without a schema are those of pg_catalog, whatever stands in the schema of the extension.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Whoever owns a schema that was there before, or may create objects in it, can put functions beside the extension's
-- that run with the rights of whoever calls them, and can drop the extension with the schema.
DO $$
DECLARE
    wrong record;
BEGIN
    WITH place AS (SELECT oid, nspowner, nspacl FROM pg_namespace WHERE nspname = 'btml'),
    owner AS (
        SELECT rolname FROM place JOIN pg_roles r ON r.oid = nspowner WHERE NOT rolsuper AND rolname <> current_user),
    creator AS (
        SELECT grantee, coalesce(quote_ident(rolname), 'PUBLIC') COLLATE "C" AS name
        FROM place CROSS JOIN aclexplode(nspacl) LEFT JOIN pg_roles r ON r.oid = grantee
        WHERE privilege_type = 'CREATE' AND grantee <> nspowner AND rolsuper IS NOT TRUE),
    -- A schema that CREATE EXTENSION made a moment ago: to drop it would not help.
    default_creator AS (
        SELECT pg_get_userbyid(nspowner) AS owner, string_agg(DISTINCT name, ', ' ORDER BY name) AS names
        FROM place JOIN pg_default_acl ON defaclrole = nspowner AND defaclobjtype = 'n'
        CROSS JOIN aclexplode(defaclacl) a JOIN creator ON creator.grantee = a.grantee
        WHERE a.privilege_type = 'CREATE' GROUP BY nspowner),
    object AS (
        SELECT pg_describe_object(classid, objid, objsubid) AS name FROM pg_depend JOIN place ON refobjid = place.oid
        WHERE refclassid = 'pg_namespace'::regclass
        AND NOT (classid = 'pg_extension'::regclass AND objid IN (SELECT oid FROM pg_extension WHERE extname = 'btml'))
        ORDER BY 1 LIMIT 5)
    SELECT * INTO wrong FROM (
        SELECT 'belongs to a role that is no superuser', format('Its owner is %I.', rolname), NULL FROM owner
        UNION ALL SELECT 'is not empty', format('It holds %s.', string_agg(name, ', ')), NULL FROM object HAVING count(*) > 0
        UNION ALL SELECT 'is open to other roles', format('CREATE on it is granted to %s.', string_agg(name, ', ' ORDER BY name)),
            (SELECT format('Default privileges grant it on every schema that %1$I makes. To end that, run: ALTER DEFAULT PRIVILEGES FOR ROLE %1$I REVOKE CREATE ON SCHEMAS FROM %2$s',
                owner, names) FROM default_creator) FROM creator HAVING count(*) > 0) w(message, detail, hint) LIMIT 1;
    IF FOUND THEN
        RAISE insufficient_privilege USING MESSAGE = format('schema "btml" %s', wrong.message), DETAIL = wrong.detail,
            HINT = coalesce(wrong.hint,
                'CREATE EXTENSION makes the schema. To remove this one with all that it holds, run: DROP SCHEMA btml CASCADE');
    END IF;
END $$;

-- Every function reads with its caller's rights, so everybody may call them.
GRANT USAGE ON SCHEMA btml TO PUBLIC;

-- Functions that types, operators, aggregates and views are made of, so that \df btml.* lists what people call.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'btml_internal') THEN
        RAISE duplicate_schema USING MESSAGE = 'schema "btml_internal" exists, and does not belong to the extension',
            DETAIL = (SELECT format('Its owner is %I.', pg_get_userbyid(nspowner)) FROM pg_namespace WHERE nspname = 'btml_internal'),
            HINT = 'CREATE EXTENSION makes the schema. To keep this one under another name, run: ALTER SCHEMA btml_internal RENAME TO other_name';
    END IF;
END $$;
CREATE SCHEMA btml_internal;
COMMENT ON SCHEMA btml_internal IS 'what types, operators, aggregates and views of the extension btml are made of';
GRANT USAGE ON SCHEMA btml_internal TO PUBLIC;

CREATE FUNCTION btml.version() RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_version';
COMMENT ON FUNCTION btml.version() IS 'version of the loaded btml library';

CREATE FUNCTION btml_internal.progress_lines(OUT pid integer, OUT function text, OUT phase text, OUT done bigint,
    OUT total bigint, OUT started_at timestamptz, OUT eta interval) RETURNS SETOF record
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'btml_progress_lines';
COMMENT ON FUNCTION btml_internal.progress_lines() IS 'rows of the view btml.progress';

CREATE VIEW btml.progress AS SELECT pid, function, phase, done, total, started_at, eta FROM btml_internal.progress_lines();
COMMENT ON VIEW btml.progress IS
'one row per running btml call: what it is doing, how much of the phase is done (in units of the phase), when the call began, and the time left of the whole call at the rate so far (NULL while a hundredth of what is measured is not done, or nobody knows how much is to come; early stopping may end it sooner); empty if shared memory had no room for it';
GRANT SELECT ON btml.progress TO PUBLIC;

CREATE TYPE btml.estimate AS (value float8, std_error float8, lower float8, upper float8, evaluations bigint);
COMMENT ON TYPE btml.estimate IS
'an estimate: its standard error (or a bound on it), bounds that hold with the probability asked for, and the amount of work, in units that the function names';

CREATE TYPE btml.normal AS (mean float8, sd float8);
COMMENT ON TYPE btml.normal IS 'a normal distribution: its mean and its standard deviation';

-- Neither json nor jsonb becomes the other by itself, so that an argument of one type refuses the other. This one takes
-- both, and literals and parameters without a type as well.
CREATE TYPE btml.json;
CREATE FUNCTION btml_internal.json_in(cstring) RETURNS btml.json LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'jsonb_in';
CREATE FUNCTION btml_internal.json_out(btml.json) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'jsonb_out';
CREATE FUNCTION btml_internal.json_recv(internal) RETURNS btml.json LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'jsonb_recv';
CREATE FUNCTION btml_internal.json_send(btml.json) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'jsonb_send';
COMMENT ON FUNCTION btml_internal.json_in(cstring) IS 'input of btml.json, as jsonb_in';
COMMENT ON FUNCTION btml_internal.json_out(btml.json) IS 'output of btml.json, as jsonb_out';
COMMENT ON FUNCTION btml_internal.json_recv(internal) IS 'binary input of btml.json, as jsonb_recv';
COMMENT ON FUNCTION btml_internal.json_send(btml.json) IS 'binary output of btml.json, as jsonb_send';
CREATE TYPE btml.json (
    INPUT = btml_internal.json_in, OUTPUT = btml_internal.json_out, RECEIVE = btml_internal.json_recv,
    SEND = btml_internal.json_send, LIKE = jsonb);
COMMENT ON TYPE btml.json IS 'an argument that is JSON: json and jsonb are cast to it, and its value is that of a jsonb';
CREATE CAST (jsonb AS btml.json) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (json AS btml.json) WITH INOUT AS IMPLICIT;
