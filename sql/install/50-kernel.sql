-- Kernel sums.

CREATE FUNCTION btml.kernel_sum(keys text, queries text, bandwidth float8 DEFAULT NULL,
    kernel text DEFAULT 'gaussian', epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.99, method text DEFAULT 'auto', seed numeric DEFAULT 0,
    scale text DEFAULT 'none', verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id text, OUT value float8, OUT std_error float8)
    RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_sum';
COMMENT ON FUNCTION btml.kernel_sum(text, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'for each query q the sum over the keys k of weight(k) times kernel(q, k), with its standard error (0: exact); points are the
elements of an array column x, or all numeric columns of keys but id and weight; sampled: |y - Kx|_2 <= epsilon |x|_2 with
probability confidence, x the weights, y the values of all queries (Indyk, Kapralov, Sheth, Wagner: Improved Algorithms for
Kernel Matrix-Vector Multiplication Under Sparsity Assumptions, Theorem 1.1); error 22004 or 22003 for a NULL, NaN or infinite
number, naming row and column; kernels and options: contrib_docs/kernel.md';

CREATE FUNCTION btml.density(keys text, queries text, bandwidth float8 DEFAULT NULL, kernel text DEFAULT 'gaussian',
    epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.99, method text DEFAULT 'auto', seed numeric DEFAULT 0,
    scale text DEFAULT 'none', verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id text, OUT value float8, OUT std_error float8)
    RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_density';
COMMENT ON FUNCTION btml.density(text, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'kernel density estimate at each query: btml.kernel_sum over the sum of the weights and the kernel''s integral, so that it integrates to 1 over the columns'' own units; options as of btml.kernel_sum, but that sampled values are within epsilon times the root mean square of the exact ones, in root mean square, with probability confidence; NULL bandwidth: the one with the largest leave-one-out likelihood, told by a NOTICE; weights must not be negative; a query that is also a key counts itself; NULL without keys';

CREATE FUNCTION btml.kernel_regression(keys text, target name, queries text, bandwidth float8 DEFAULT NULL,
    kernel text DEFAULT 'gaussian', epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.99,
    method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none', verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id text, OUT value float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_regression';
COMMENT ON FUNCTION btml.kernel_regression(text, name, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'mean of the keys'' target at each query, weighted by kernel times weight (Nadaraya-Watson); target: a numeric column of the keys, no coordinate, a key where it is NULL is left out; where every kernel value is 0, the nearest key''s target; the standard error of sampled values by the delta method; NULL bandwidth: the one with the least leave-one-out squared error, told by a NOTICE; options as of btml.density; NULL without keys';

CREATE FUNCTION btml.attention(keys text, queries text, value name, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.99, method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none',
    verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id text, OUT value float8[], OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_attention';
COMMENT ON FUNCTION btml.attention(text, text, name, float8, float8, text, numeric, text, boolean, text[]) IS
'softmax attention: for each query q the mean of the keys'' values, weighted by exp(q.k/sqrt(d)), d the number of coordinates; value: a column of the keys, of numbers or of numeric arrays of one length; std_error: of sampled values, the root mean square over the components; through a Gaussian kernel of d + 1 coordinates (Indyk, Kapralov, Sheth, Wagner: Improved Algorithms for Kernel Matrix-Vector Multiplication Under Sparsity Assumptions, Lemma 4.1); options as of btml.density; NULL without keys';

CREATE FUNCTION btml.kernel_tail_ratio(keys text, queries text, bandwidth float8 DEFAULT NULL,
    method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none', kernel text DEFAULT 'gaussian',
    args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_tail_ratio';
COMMENT ON FUNCTION btml.kernel_tail_ratio(text, text, float8, text, numeric, text, text, text[]) IS
'how heavy the tail of a kernel matrix is: the sum of all entries but the n largest over that of the n largest, n the larger
of the numbers of keys and queries (Indyk, Kapralov, Sheth, Wagner: Improved Algorithms for Kernel Matrix-Vector Multiplication
Under Sparsity Assumptions, assumption (A)); points and kernel as of btml.kernel_sum; lower and upper are those of 95 %;
Infinity where the n largest are all 0';

CREATE FUNCTION btml.kernel_tail_profile(keys text, queries text, bandwidth float8 DEFAULT NULL,
    prefixes numeric[] DEFAULT NULL,
    scale text DEFAULT 'none', kernel text DEFAULT 'gaussian',
    args text[] DEFAULT NULL, OUT prefix integer, OUT tail_ratio float8,
    OUT nth_to_next float8, OUT nth_to_2nth float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_tail_profile';
COMMENT ON FUNCTION btml.kernel_tail_profile(text, text, float8, numeric[], text, text, text[]) IS
'btml.kernel_tail_ratio, exactly, of the first rows of keys and queries, for each number of them in prefixes (by default 50, 100, 200 and so on, and all), with the n-th largest entry over the next and over the 2n-th (Infinity where that is 0)';

-- With ids of their own type, as jsonb_populate_record gives rows of the type of its first argument. The bandwidth has no
-- default here: three parameters of unknown types are those of the forms above.
CREATE FUNCTION btml.kernel_sum(id_type anyelement, keys text, queries text, bandwidth float8,
    kernel text DEFAULT 'gaussian', epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.99,
    method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none', verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id anyelement, OUT value float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_sum';
COMMENT ON FUNCTION btml.kernel_sum(anyelement, text, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'btml.kernel_sum with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow, the bandwidth too, which may be NULL; error of that type''s input for an id that is no such value';
CREATE FUNCTION btml.density(id_type anyelement, keys text, queries text, bandwidth float8,
    kernel text DEFAULT 'gaussian', epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.99,
    method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none', verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id anyelement, OUT value float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_density';
COMMENT ON FUNCTION btml.density(anyelement, text, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'btml.density with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow, the bandwidth too, which may be NULL; error of that type''s input for an id that is no such value';
CREATE FUNCTION btml.kernel_regression(id_type anyelement, keys text, target name, queries text,
    bandwidth float8, kernel text DEFAULT 'gaussian', epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.99, method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none',
    verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id anyelement, OUT value float8, OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_kernel_regression';
COMMENT ON FUNCTION btml.kernel_regression(anyelement, text, name, text, float8, text, float8, float8, text, numeric, text, boolean, text[]) IS
'btml.kernel_regression with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow, the bandwidth too, which may be NULL; error of that type''s input for an id that is no such value';
CREATE FUNCTION btml.attention(id_type anyelement, keys text, queries text, value name, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.99, method text DEFAULT 'auto', seed numeric DEFAULT 0, scale text DEFAULT 'none',
    verbose boolean DEFAULT false,
    args text[] DEFAULT NULL, OUT id anyelement, OUT value float8[], OUT std_error float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 100000 AS 'MODULE_PATHNAME', 'btml_attention';
COMMENT ON FUNCTION btml.attention(anyelement, text, text, name, float8, float8, text, numeric, text, boolean, text[]) IS
'btml.attention with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow; error of that type''s input for an id that is no such value';

-- Kernel sums over keys wherever they lie. The state is a type of ours, so that engines which ship partial aggregates can
-- ship it.

CREATE TYPE btml.kernel_sums;
CREATE FUNCTION btml_internal.kernel_sums_in(cstring) RETURNS btml.kernel_sums
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_in';
CREATE FUNCTION btml_internal.kernel_sums_out(btml.kernel_sums) RETURNS cstring
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_out';
CREATE FUNCTION btml_internal.kernel_sums_recv(internal) RETURNS btml.kernel_sums
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_recv';
CREATE FUNCTION btml_internal.kernel_sums_send(btml.kernel_sums) RETURNS bytea
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_send';
CREATE TYPE btml.kernel_sums (
    INPUT = btml_internal.kernel_sums_in, OUTPUT = btml_internal.kernel_sums_out, RECEIVE = btml_internal.kernel_sums_recv,
    SEND = btml_internal.kernel_sums_send, INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE btml.kernel_sums IS 'transition state of btml.kernel_sum_agg: the queries and their sums';
COMMENT ON FUNCTION btml_internal.kernel_sums_in(cstring) IS 'input of btml.kernel_sums';
COMMENT ON FUNCTION btml_internal.kernel_sums_out(btml.kernel_sums) IS 'output of btml.kernel_sums';
COMMENT ON FUNCTION btml_internal.kernel_sums_recv(internal) IS 'binary input of btml.kernel_sums';
COMMENT ON FUNCTION btml_internal.kernel_sums_send(btml.kernel_sums) IS 'binary output of btml.kernel_sums';

CREATE FUNCTION btml_internal.kernel_sums_accumulate(btml.kernel_sums, float8[], float8, float8[], float8, text) RETURNS btml.kernel_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_kernel_sums_accumulate';
CREATE FUNCTION btml_internal.kernel_sums_accumulate(btml.kernel_sums, float8[], float8, float8[], float8) RETURNS btml.kernel_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'btml_kernel_sums_accumulate';
COMMENT ON FUNCTION btml_internal.kernel_sums_accumulate(btml.kernel_sums, float8[], float8, float8[], float8) IS 'transition function of btml.kernel_sum_agg';
CREATE FUNCTION btml_internal.kernel_sums_combine(btml.kernel_sums, btml.kernel_sums) RETURNS btml.kernel_sums
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_combine';
CREATE FUNCTION btml_internal.kernel_sums_final(btml.kernel_sums) RETURNS float8[]
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_kernel_sums_final';
COMMENT ON FUNCTION btml_internal.kernel_sums_accumulate(btml.kernel_sums, float8[], float8, float8[], float8, text) IS 'transition function of btml.kernel_sum_agg';
COMMENT ON FUNCTION btml_internal.kernel_sums_combine(btml.kernel_sums, btml.kernel_sums) IS 'combine function of btml.kernel_sum_agg';
COMMENT ON FUNCTION btml_internal.kernel_sums_final(btml.kernel_sums) IS 'final function of btml.kernel_sum_agg';

CREATE AGGREGATE btml.kernel_sum_agg(x float8[], weight float8, queries float8[], bandwidth float8) (
    SFUNC = btml_internal.kernel_sums_accumulate, STYPE = btml.kernel_sums, SSPACE = 32768, COMBINEFUNC = btml_internal.kernel_sums_combine,
    FINALFUNC = btml_internal.kernel_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.kernel_sum_agg(float8[], float8, float8[], float8) IS
'the same with a Gaussian kernel; postgres_fdw ships it, which it does not where a constant is text';
CREATE AGGREGATE btml.kernel_sum_agg(x float8[], weight float8, queries float8[], bandwidth float8, kernel text) (
    SFUNC = btml_internal.kernel_sums_accumulate, STYPE = btml.kernel_sums, SSPACE = 32768, COMBINEFUNC = btml_internal.kernel_sums_combine,
    FINALFUNC = btml_internal.kernel_sums_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.kernel_sum_agg(float8[], float8, float8[], float8, text) IS
'for each query the sum over the rows'' keys x of weight times kernel(query, x), in the order of the queries, whose
coordinates stand one after another in an array; exact, and the same bits for every order of the rows and every plan; queries,
bandwidth (1e-150 to 1e150, in the units of x) and kernel (gaussian, laplacian, epanechnikov, matern32, matern52) are the same
in every row; error 22004 for a NULL argument, 22003 for a NaN or infinite number and for a sum past the largest double, 22023
for arrays whose lengths do not fit; NULL for no rows; time: rows times queries times coordinates';
