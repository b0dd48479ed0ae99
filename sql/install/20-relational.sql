-- SumProd queries over joins that are never materialised.

CREATE FUNCTION btml.explain_join(source text, args text[] DEFAULT NULL) RETURNS SETOF text
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_explain_join';
COMMENT ON FUNCTION btml.explain_join(text, text[]) IS
'how btml reads a source (a table, a view or a SELECT, in which args are the values of $1, $2 ...): base relations with their rows before and after reduction, join tree with its keys, the bags of a cyclic join with their AGM bounds, fractional hypertree width, what was not factorised and why, exact rows of the join, training strategy; the source is read, not materialised';

CREATE FUNCTION btml.sumprod(source text, semiring text DEFAULT 'sum_product', args text[] DEFAULT NULL) RETURNS float8
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod';
COMMENT ON FUNCTION btml.sumprod(text, text, text[]) IS
'the sum over the rows of the source''s join of the product over its output columns, without the join, in time near-linear in
the tables, or in the largest bag of a cyclic join (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, section 2);
SELECT FROM ... counts rows; semiring: sum_product, max_product, min_plus, max_plus, or_and; a NULL factor skips the row; error
22003 where finite factors overflow or a count passes 2^53, 22023 for a negative factor of max_product';

CREATE FUNCTION btml.sumprod_by(source text, group_by name[], semiring text DEFAULT 'sum_product',
    args text[] DEFAULT NULL)
RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod_by';
COMMENT ON FUNCTION btml.sumprod_by(text, name[], text, text[]) IS
'btml.sumprod for each combination of the group columns, which are output columns of one base relation and not factors; give the column list: AS t(region text, value float8)';

CREATE FUNCTION btml.sumprod_exact(source text, semiring text DEFAULT 'sum_product',
    args text[] DEFAULT NULL) RETURNS numeric
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod_exact';
COMMENT ON FUNCTION btml.sumprod_exact(text, text, text[]) IS
'btml.sumprod of integers and numerics, to the last digit: an aggregate over the source, factorized as btml.factorize_aggregates = exact does
it where that costs less; NULL where min_plus and max_plus find no row; error 42804 for a factor of another type, 22023 for a negative factor of max_product';

CREATE FUNCTION btml.sumprod_exact_by(source text, group_by name[], semiring text DEFAULT 'sum_product',
    args text[] DEFAULT NULL)
RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sumprod_exact_by';
COMMENT ON FUNCTION btml.sumprod_exact_by(text, name[], text, text[]) IS
'btml.sumprod_exact for each combination of the group columns, which are output columns of any base relations and not factors; give the column list: AS t(region text, value numeric)';

CREATE FUNCTION btml.sample_join(source text, n numeric, seed numeric DEFAULT 0,
    args text[] DEFAULT NULL) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sample_join';
COMMENT ON FUNCTION btml.sample_join(text, numeric, numeric, text[]) IS
'n rows of the source''s join, drawn uniformly and without replacement, all rows where it has fewer; the join is not built,
but counted (Zhao, Christensen, Li, Hu, Yi: Random Sampling over Joins Revisited, SIGMOD 2018), in time near-linear in the
tables, or in the largest bag of a cyclic join; rows with the same contents give the same sample wherever they lie; give the
source''s columns as the column list: AS t(id bigint, name text); error 22023 for a negative n, 42804 for another column list,
22003 beyond 2^127 rows of the join';

CREATE FUNCTION btml_internal.sumprod_accumulate(float8[], float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_accumulate';
CREATE FUNCTION btml_internal.sumprod_accumulate(float8[], float8[], text) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_accumulate';
CREATE FUNCTION btml_internal.sumprod_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_combine';
CREATE FUNCTION btml_internal.sumprod_final(float8[]) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sumprod_final';
COMMENT ON FUNCTION btml_internal.sumprod_accumulate(float8[], float8[]) IS 'transition function of btml.sumprod_agg';
COMMENT ON FUNCTION btml_internal.sumprod_accumulate(float8[], float8[], text) IS 'transition function of btml.sumprod_agg';
COMMENT ON FUNCTION btml_internal.sumprod_combine(float8[], float8[]) IS 'combine function of btml.sumprod_agg';
COMMENT ON FUNCTION btml_internal.sumprod_final(float8[]) IS 'final function of btml.sumprod_agg';

CREATE AGGREGATE btml.sumprod_agg(factors float8[]) (
    SFUNC = btml_internal.sumprod_accumulate, STYPE = float8[], COMBINEFUNC = btml_internal.sumprod_combine,
    FINALFUNC = btml_internal.sumprod_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.sumprod_agg(factors float8[], semiring text) (
    SFUNC = btml_internal.sumprod_accumulate, STYPE = float8[], COMBINEFUNC = btml_internal.sumprod_combine,
    FINALFUNC = btml_internal.sumprod_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.sumprod_agg(float8[]) IS
'sum over the rows of the product of the array''s elements; a NULL array or element skips the row; NULL when no row is left';
COMMENT ON AGGREGATE btml.sumprod_agg(float8[], text) IS
'the same over a semiring: sum_product, max_product, min_plus, max_plus or or_and, the same in every row';

-- Tensor sketches.

CREATE FUNCTION btml.sketch_norm(source text, value name, sketch_size numeric DEFAULT NULL, epsilon float8 DEFAULT 0.1,
    delta float8 DEFAULT 0.1, seed numeric DEFAULT 0, verify boolean DEFAULT false,
    args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_sketch_norm';
COMMENT ON FUNCTION btml.sketch_norm(text, name, numeric, float8, float8, numeric, boolean, text[]) IS
'the sum of value squared over the rows of the source''s join, by a tensor sketch of k numbers (Cromp, Samadian, Pruhs:
Relational Boosted Regression Trees, section 3): within a factor 1 +- epsilon with probability 1 - delta for
k = (2 + 3^tables)/(epsilon^2 delta), unless sketch_size gives k; std_error is sqrt((2 + 3^tables)/k) times value, evaluations
the k used; a NULL value skips the row, NaN and infinity are error 22003; options: contrib_docs/relational.md';

CREATE FUNCTION btml_internal.tensor_sketch_accumulate(float8[], float8, text[], bigint, bigint) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_tensor_sketch_accumulate';
CREATE FUNCTION btml_internal.tensor_sketch_combine(float8[], float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_tensor_sketch_combine';
CREATE FUNCTION btml_internal.tensor_sketch_final(float8[]) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_tensor_sketch_final';
COMMENT ON FUNCTION btml_internal.tensor_sketch_accumulate(float8[], float8, text[], bigint, bigint) IS
'transition function of btml.tensor_sketch_agg';
COMMENT ON FUNCTION btml_internal.tensor_sketch_combine(float8[], float8[]) IS 'combine function of btml.tensor_sketch_agg';
COMMENT ON FUNCTION btml_internal.tensor_sketch_final(float8[]) IS 'final function of btml.tensor_sketch_agg';

CREATE AGGREGATE btml.tensor_sketch_agg(value float8, keys text[], sketch_size bigint, seed bigint) (
    SFUNC = btml_internal.tensor_sketch_accumulate, STYPE = float8[], COMBINEFUNC = btml_internal.tensor_sketch_combine,
    FINALFUNC = btml_internal.tensor_sketch_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.tensor_sketch_agg(float8, text[], bigint, bigint) IS
'a tensor sketch of sketch_size numbers of the vector that has value at the coordinate keys, 1 to 1000 texts (Pham and Pagh,
KDD 2013); values of equal keys add up, and so do sketches with one size and seed; the hash functions are those of
contrib_docs/relational.md; NULL, NaN and infinity are errors; NULL when no row was aggregated';

CREATE FUNCTION btml.sketch_inner(a float8[], b float8[]) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_sketch_inner';
COMMENT ON FUNCTION btml.sketch_inner(float8[], float8[]) IS
'inner product of two sketches of one size and seed: an unbiased estimate of the inner product of the vectors, with standard deviation at most sqrt((2 + 3^keys)/sketch_size) times the product of their norms; of a sketch with itself, the squared norm; NULL if either is NULL';
