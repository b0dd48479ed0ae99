-- Exemplars: rows that stand for a table.

CREATE FUNCTION btml.exemplars(source text, k numeric, objective text DEFAULT 'clustering', target name DEFAULT NULL,
    dissimilarity text DEFAULT 'squared_euclidean', validation numeric DEFAULT NULL, passes numeric DEFAULT 1,
    max_candidates numeric DEFAULT NULL, eta float8 DEFAULT 0, phantom text DEFAULT 'none', batch numeric DEFAULT 100,
    racing boolean DEFAULT false, confidence float8 DEFAULT 0.95, scan_order text DEFAULT 'physical',
    length_scales float8[] DEFAULT NULL, signal float8 DEFAULT NULL, noise float8 DEFAULT NULL, seed numeric DEFAULT 0,
    verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT slot integer, OUT id text, OUT x float8[], OUT members float8,
    OUT mean_dissimilarity float8, OUT utility float8, OUT utility_std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 ROWS 100 AS 'MODULE_PATHNAME', 'btml_exemplars';
COMMENT ON FUNCTION btml.exemplars(text, numeric, text, name, text, numeric, numeric, numeric, float8, text, numeric, boolean, float8, text, float8[], float8, float8, numeric, boolean, text[]) IS
'at most k rows of the source that stand for all of it, by STREAMGREEDY (Gomes, Krause: Budgeted Nonparametric Learning from
Data Streams, Algorithm 1) in memory that does not grow with the source; objective: clustering (equation 3.6), or an active set
of a Gaussian process by information (3.3), variance (3.4) or prediction; columns: slot from 1, id as text, coordinates, rows
nearest to the exemplar, their mean dissimilarity, the whole set''s utility on an independent sample and its standard error;
same rows in the same order, options and seed: same exemplars; options: contrib_docs/exemplar.md';

CREATE FUNCTION btml.nearest_exemplar(x float8[], exemplars btml.json, dissimilarity text DEFAULT 'squared_euclidean')
RETURNS text
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_nearest_exemplar';
COMMENT ON FUNCTION btml.nearest_exemplar(float8[], btml.json, text) IS
'the id of the exemplar nearest to x, of equally near ones the first; exemplars: a JSON array of objects with "id" and "x", as btml.exemplars_agg returns; dissimilarity: squared_euclidean, euclidean, cosine or manhattan; NULL for a NULL x or NULL or no exemplars';

-- Exemplars inside GROUP BY. The state is a type of ours, so that engines which ship partial aggregates can ship it.

CREATE TYPE btml.exemplar_sample;
CREATE FUNCTION btml_internal.exemplar_sample_in(cstring) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplar_sample_in';
CREATE FUNCTION btml_internal.exemplar_sample_out(btml.exemplar_sample) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplar_sample_out';
CREATE FUNCTION btml_internal.exemplar_sample_recv(internal) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplar_sample_recv';
CREATE FUNCTION btml_internal.exemplar_sample_send(btml.exemplar_sample) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplar_sample_send';
CREATE TYPE btml.exemplar_sample (
    INPUT = btml_internal.exemplar_sample_in, OUTPUT = btml_internal.exemplar_sample_out, RECEIVE = btml_internal.exemplar_sample_recv,
    SEND = btml_internal.exemplar_sample_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml.exemplar_sample IS 'transition state of btml.exemplars_agg: a sample of the rows';
COMMENT ON FUNCTION btml_internal.exemplar_sample_in(cstring) IS 'input of btml.exemplar_sample';
COMMENT ON FUNCTION btml_internal.exemplar_sample_out(btml.exemplar_sample) IS 'output of btml.exemplar_sample';
COMMENT ON FUNCTION btml_internal.exemplar_sample_recv(internal) IS 'binary input of btml.exemplar_sample';
COMMENT ON FUNCTION btml_internal.exemplar_sample_send(btml.exemplar_sample) IS 'binary output of btml.exemplar_sample';

CREATE FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, bigint, float8[], bigint) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplars_accumulate_bigint';
COMMENT ON FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, bigint, float8[], bigint) IS 'transition function of btml.exemplars_agg';
CREATE FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, text, float8[], bigint) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplars_accumulate_text';
COMMENT ON FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, text, float8[], bigint) IS 'transition function of btml.exemplars_agg';
CREATE FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, uuid, float8[], bigint) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplars_accumulate_uuid';
COMMENT ON FUNCTION btml_internal.exemplars_accumulate(btml.exemplar_sample, uuid, float8[], bigint) IS 'transition function of btml.exemplars_agg';
CREATE FUNCTION btml_internal.exemplars_combine(btml.exemplar_sample, btml.exemplar_sample) RETURNS btml.exemplar_sample
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplar_sample_combine';
CREATE FUNCTION btml_internal.exemplars_final(btml.exemplar_sample) RETURNS jsonb
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_exemplars_final';
COMMENT ON FUNCTION btml_internal.exemplars_combine(btml.exemplar_sample, btml.exemplar_sample) IS 'combine function of btml.exemplars_agg';
COMMENT ON FUNCTION btml_internal.exemplars_final(btml.exemplar_sample) IS 'final function of btml.exemplars_agg';

CREATE AGGREGATE btml.exemplars_agg(id bigint, x float8[], k bigint) (
    SFUNC = btml_internal.exemplars_accumulate, STYPE = btml.exemplar_sample, SSPACE = 2048, COMBINEFUNC = btml_internal.exemplars_combine,
    FINALFUNC = btml_internal.exemplars_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.exemplars_agg(id text, x float8[], k bigint) (
    SFUNC = btml_internal.exemplars_accumulate, STYPE = btml.exemplar_sample, SSPACE = 2048, COMBINEFUNC = btml_internal.exemplars_combine,
    FINALFUNC = btml_internal.exemplars_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.exemplars_agg(id uuid, x float8[], k bigint) (
    SFUNC = btml_internal.exemplars_accumulate, STYPE = btml.exemplar_sample, SSPACE = 2048, COMBINEFUNC = btml_internal.exemplars_combine,
    FINALFUNC = btml_internal.exemplars_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.exemplars_agg(bigint, float8[], bigint) IS
'at most k rows (1 to 10,000) of any query''s group that stand for it: [{"id": ..., "x": [...], "members": ...}, ...], id a bigint, as a number, text or uuid; clustering with squared Euclidean dissimilarities on a sample of 5,000 or 100 k distinct rows, whichever is more; members: estimated rows nearest to the exemplar, in all those of the group; the same whatever the order of the rows and the number of workers; k is the same in every row; error for an x that is NULL or has an element that is not finite; NULL for no rows';
COMMENT ON AGGREGATE btml.exemplars_agg(text, float8[], bigint) IS 'the same with ids of type text, which are strings of the JSON';
COMMENT ON AGGREGATE btml.exemplars_agg(uuid, float8[], bigint) IS 'the same with ids of type uuid, which are strings of the JSON';

-- With ids of their own type, as jsonb_populate_record gives rows of the type of its first argument.
CREATE FUNCTION btml.exemplars(id_type anyelement, source text, k numeric, objective text DEFAULT 'clustering',
    target name DEFAULT NULL, dissimilarity text DEFAULT 'squared_euclidean', validation numeric DEFAULT NULL,
    passes numeric DEFAULT 1, max_candidates numeric DEFAULT NULL, eta float8 DEFAULT 0, phantom text DEFAULT 'none',
    batch numeric DEFAULT 100, racing boolean DEFAULT false, confidence float8 DEFAULT 0.95,
    scan_order text DEFAULT 'physical', length_scales float8[] DEFAULT NULL, signal float8 DEFAULT NULL,
    noise float8 DEFAULT NULL, seed numeric DEFAULT 0, verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT slot integer,
    OUT id anyelement, OUT x float8[], OUT members float8, OUT mean_dissimilarity float8, OUT utility float8,
    OUT utility_std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 ROWS 100 AS 'MODULE_PATHNAME', 'btml_exemplars';
COMMENT ON FUNCTION btml.exemplars(anyelement, text, numeric, text, name, text, numeric, numeric, numeric, float8, text, numeric, boolean, float8, text, float8[], float8, float8, numeric, boolean, text[]) IS
'btml.exemplars with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow; error of that type''s input for an id that is no such value';
