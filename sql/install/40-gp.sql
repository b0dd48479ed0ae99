-- Gaussian processes with the binary tree kernel, and with smooth ones.

CREATE FUNCTION btml.gp_fit(source text, target name, features name[] DEFAULT NULL, categorical name[] DEFAULT NULL,
    bits numeric DEFAULT NULL, members numeric DEFAULT NULL, combine text DEFAULT 'auto', search text DEFAULT 'local',
    evaluations numeric DEFAULT NULL, noise float8 DEFAULT NULL, signal float8 DEFAULT NULL,
    outside text DEFAULT 'prior', holdout name DEFAULT NULL, seed numeric DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, options btml.json DEFAULT NULL, exclude name[] DEFAULT NULL, kernel text DEFAULT 'tree',
    exemplars numeric DEFAULT 512, encoding text DEFAULT 'auto',
    mean text DEFAULT 'auto', exemplar_objective text DEFAULT 'likelihood', varying_noise boolean DEFAULT NULL,
    exemplar_source text DEFAULT NULL, holdout_fraction float8 DEFAULT NULL, order_by name DEFAULT NULL,
    group_by name DEFAULT NULL, args text[] DEFAULT NULL)
    RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_gp_fit';
COMMENT ON FUNCTION btml.gp_fit(text, name, name[], name[], numeric, numeric, text, text, numeric, float8, float8, text, name, numeric, boolean, name, btml.json, name[], text, numeric, text, text, text, boolean, text, float8, name, name, text[]) IS
'Gaussian process regression with the binary tree kernel (Binary Tree Gaussian Processes, Definition 1), in time n log n for
n rows of the join, as one member, a mixture or a sum of kernels (combine), or with a smooth
kernel by way of exemplars, of rows or of exemplar_source (Titsias 2009); mean: of the targets, or of what boosted trees leave;
varying_noise: as noisy as each point is; features: all other columns
unless named; text, enum, boolean: categorical; a NULL is a bit of its own; noise, signal: in units of the
target''s variance; same source, options, seed: same model; options: contrib_docs/gp.md';

CREATE FUNCTION btml.gp_fit_members(source text, target name, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, bits numeric DEFAULT NULL, members numeric DEFAULT NULL,
    search text DEFAULT 'local', evaluations numeric DEFAULT NULL, noise float8 DEFAULT NULL,
    signal float8 DEFAULT NULL, outside text DEFAULT 'prior', seed numeric DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, encoding text DEFAULT 'auto',
    args text[] DEFAULT NULL, OUT member integer, OUT log_likelihood float8, OUT noise float8,
    OUT signal float8, OUT evaluations integer, OUT model btml.model) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 ROWS 10 AS 'MODULE_PATHNAME', 'btml_gp_fit_members';
COMMENT ON FUNCTION btml.gp_fit_members(text, name, name[], name[], numeric, numeric, text, numeric, float8, float8, text, numeric, boolean, name, text, text[]) IS
'the members of btml.gp_fit, each as a model of its own: number from 1, log marginal likelihood of the training rows (nats, target''s units), variances of the noise and of the latent function in units of the target''s variance, evaluations of the likelihood, and the model';

CREATE FUNCTION btml.gp_regression(source text, target name, queries text, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, bits numeric DEFAULT NULL, members numeric DEFAULT NULL,
    combine text DEFAULT 'auto', search text DEFAULT 'local', evaluations numeric DEFAULT NULL,
    noise float8 DEFAULT NULL, signal float8 DEFAULT NULL, outside text DEFAULT 'prior', holdout name DEFAULT NULL,
    seed numeric DEFAULT 0, verbose boolean DEFAULT false, weight name DEFAULT NULL, kernel text DEFAULT 'tree',
    exemplars numeric DEFAULT 512, encoding text DEFAULT 'auto',
    exemplar_objective text DEFAULT 'likelihood', varying_noise boolean DEFAULT NULL,
    exemplar_source text DEFAULT NULL,
    args text[] DEFAULT NULL, OUT id text, OUT mean float8, OUT sd float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_gp_regression';
COMMENT ON FUNCTION btml.gp_regression(text, name, text, name[], name[], numeric, numeric, text, text, numeric, float8, float8, text, name, numeric, boolean, name, text, numeric, text, text, boolean, text, text[]) IS
'btml.gp_fit and btml.predict_normal in one: mean and standard deviation of an observation at each row of queries, a table, view or SELECT with the features by name (more columns are ignored); id: its column id as text, NULL where that is NULL, or the number of the row from 1 where there is no such column';

CREATE FUNCTION btml.gp_log_likelihood(model btml.model) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_log_likelihood';
COMMENT ON FUNCTION btml.gp_log_likelihood(btml.model) IS
'log marginal likelihood of the rows that the model holds: total, nats, in the target''s own units; of a mixture, the log of the weighted mean of its members'' likelihoods; of a smooth kernel a lower bound (Titsias 2009, equation 9), NULL after an update; NULL for a sum of kernels, whose determinant would only be an estimate, for a model of what boosted trees leave, and for NULL; error 42804 for boosted trees';

CREATE FUNCTION btml.gp_leave_one_out(model btml.model, OUT n bigint, OUT mean_nll float8, OUT rmse float8,
    OUT coverage_90 float8, OUT mean_nll_student_t float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'btml_gp_leave_one_out';
COMMENT ON FUNCTION btml.gp_leave_one_out(btml.model) IS
'training rows, each predicted from all the others by the kernels of the fit: n rows, the mean negative log density (nats, in
the target''s units), the root of the mean squared error, the share of rows in the central 90 % interval, and the mean negative
log density of btml.predict_distribution; of a mixture
exactly, of a sum by estimates that are optimistic where noise is small, of a smooth kernel 50,000 rows at most, with the exemplars of the fit, of boosted
trees out of fold; over boosted trees of the rows in no fold, as if normal; coverage_90 is NULL after btml.gp_update and btml.gp_downdate; no rows for NULL';

CREATE FUNCTION btml.gp_relevance(model btml.model, elements boolean DEFAULT false, OUT feature text, OUT weight float8)
RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_relevance';
COMMENT ON FUNCTION btml.gp_relevance(btml.model, boolean) IS
'what the bits of each feature add to the prior variance of the latent function, in the target''s units squared, most relevant first; of a smooth kernel, how much of it points do not share that are a standard deviation, or a category, apart; boosted trees add what their splits took from the mean square of the targets; elements: each element of an array apart, else their sum; no rows for NULL';

CREATE FUNCTION btml.gp_sample(model btml.model, source text, draws numeric DEFAULT 1, seed numeric DEFAULT 0,
    args text[] DEFAULT NULL,
    OUT draw integer, OUT row_number bigint, OUT id text, OUT value float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_gp_sample';
COMMENT ON FUNCTION btml.gp_sample(btml.model, text, numeric, numeric, text[]) IS
'joint draws of the latent function, without noise, at all rows of source together, in the target''s units; draw and row are
numbered from 1; a mixture''s draw is of one member, chosen with its probability; the same seed gives the same draws; no rows
for a NULL model; of a sum, 54000 where its systems are not
solved, 22023 for a point with a value that no training row has';

CREATE FUNCTION btml.gp_update(model btml.model, x float8[], y float8) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_update_array';
CREATE FUNCTION btml.gp_update(model btml.model, input record, y float8) RETURNS btml.model
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_update_record';
CREATE FUNCTION btml.gp_downdate(model btml.model, x float8[], y float8) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_downdate_array';
CREATE FUNCTION btml.gp_downdate(model btml.model, input record, y float8) RETURNS btml.model
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_downdate_record';
COMMENT ON FUNCTION btml.gp_update(btml.model, float8[], float8) IS
'the model given one observation more, of weight 1; kernels, noise and how it varies, trees of the mean, calibration and the target''s scale stay as trained; x as
for btml.predict; a point outside of the training range counts as one at its end, with a NOTICE, under outside => ''prior'' the
less the farther out it is, and a range beyond not at all; a smooth kernel takes points and categories as they are; error 54000 where a sum''s systems are not solved, 22023 for a NULL or a category that no training
row has, but of a smooth kernel, 22003 for a target more than 1e15 standard deviations out; NULL for a NULL model';
COMMENT ON FUNCTION btml.gp_update(btml.model, record, float8) IS
'the same with features by column name, as btml.predict finds them';
COMMENT ON FUNCTION btml.gp_downdate(btml.model, float8[], float8) IS
'the model without one observation of weight 1 that it has: the inverse of btml.gp_update, of a mixture up to rounding; error 22023 for an observation that is not in the model (of a smooth kernel, which keeps no rows, for one that weighs more than any row could), and for the only one of a sum or of a smooth kernel; error 0A000 for a mixture and a smooth kernel whose noise varies';
COMMENT ON FUNCTION btml.gp_downdate(btml.model, record, float8) IS
'the same with features by column name, as btml.predict finds them';

-- Training inside GROUP BY.

CREATE FUNCTION btml_internal.gp_fit_accumulate(btml.training_rows, float8, float8[], btml.json) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_fit_accumulate';
CREATE FUNCTION btml_internal.gp_fit_final(btml.training_rows) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_fit_final';
COMMENT ON FUNCTION btml_internal.gp_fit_accumulate(btml.training_rows, float8, float8[], btml.json) IS 'transition function of btml.gp_fit_agg';
COMMENT ON FUNCTION btml_internal.gp_fit_final(btml.training_rows) IS 'final function of btml.gp_fit_agg';

CREATE AGGREGATE btml.gp_fit_agg(y float8, x float8[]) (
    SFUNC = btml_internal.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.gp_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.gp_fit_agg(y float8, x float8[], options btml.json) (
    SFUNC = btml_internal.gp_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml_internal.training_rows_combine,
    FINALFUNC = btml_internal.gp_fit_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.gp_fit_agg(float8, float8[]) IS
'a Gaussian process for each group of any query: y is the target, x the features x1 ... xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows';
COMMENT ON AGGREGATE btml.gp_fit_agg(float8, float8[], btml.json) IS
'the same with options: a JSON object with names and values of btml.gp_fit''s options bits, members, combine, search, evaluations, noise, signal, outside, seed, kernel, exemplars, encoding, mean, exemplar_objective and varying_noise, the same in every row';

-- With ids of their own type, as jsonb_populate_record gives rows of the type of its first argument.
CREATE FUNCTION btml.gp_regression(id_type anyelement, source text, target name, queries text,
    features name[] DEFAULT NULL, categorical name[] DEFAULT NULL, bits numeric DEFAULT NULL,
    members numeric DEFAULT NULL, combine text DEFAULT 'auto', search text DEFAULT 'local',
    evaluations numeric DEFAULT NULL, noise float8 DEFAULT NULL, signal float8 DEFAULT NULL,
    outside text DEFAULT 'prior', holdout name DEFAULT NULL, seed numeric DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, kernel text DEFAULT 'tree', exemplars numeric DEFAULT 512, encoding text DEFAULT 'auto',
    exemplar_objective text DEFAULT 'likelihood', varying_noise boolean DEFAULT NULL,
    exemplar_source text DEFAULT NULL,
    args text[] DEFAULT NULL, OUT id anyelement, OUT mean float8, OUT sd float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_gp_regression';
COMMENT ON FUNCTION btml.gp_regression(anyelement, text, name, text, name[], name[], numeric, numeric, text, text, numeric, float8, float8, text, name, numeric, boolean, name, text, numeric, text, text, boolean, text, text[]) IS
'btml.gp_regression with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow; error of that type''s input for an id that is no such value';
CREATE FUNCTION btml.gp_sample(id_type anyelement, model btml.model, source text, draws numeric DEFAULT 1,
    seed numeric DEFAULT 0,
    args text[] DEFAULT NULL, OUT draw integer, OUT row_number bigint, OUT id anyelement, OUT value float8)
    RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_gp_sample';
COMMENT ON FUNCTION btml.gp_sample(anyelement, btml.model, text, numeric, numeric, text[]) IS
'btml.gp_sample with ids as values of the type of id_type, a NULL of it: NULL::bigint; the other arguments follow; error of that type''s input for an id that is no such value';
