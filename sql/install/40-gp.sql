-- Gaussian processes with the binary tree kernel.

CREATE FUNCTION btml.gp_fit(source text, target name, features name[] DEFAULT NULL, categorical name[] DEFAULT NULL,
    bits integer DEFAULT NULL, members integer DEFAULT NULL, combine text DEFAULT 'auto', search text DEFAULT 'local',
    evaluations integer DEFAULT NULL, noise float8 DEFAULT NULL, signal float8 DEFAULT NULL,
    outside text DEFAULT 'clamp', holdout name DEFAULT NULL, seed bigint DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_gp_fit';
COMMENT ON FUNCTION btml.gp_fit(text, name, name[], name[], integer, integer, text, text, integer, float8, float8, text, name, bigint, boolean, name) IS
'Gaussian process regression with the binary tree kernel (Binary Tree Gaussian Processes, Definition 1): covariance of two points is c_l, the sum of the first l weights, for strings of bits that share their first l; exact inference in time linear in the rows of the source''s join; features default to every output column but target, holdout and weight; text, enum and boolean columns are categorical, ordered by their mean target; dates and times are seconds since 1970; a NULL is a bit of its own; bits: of a feature''s value, 1 to 30 (default min(8, 150 / features + 1)), from its range among the training rows; members: bit orders and kernels, 1 to 1000, that differ by random shifts of the grid, a sum has four at least; combine: mixture (weights proportional to exp(-100 negative log likelihood per row)), kernel_sum (the sum of the members'' kernels, its variances from 30 samples of the posterior and calibrated by leave-one-out), boosted (each member is fitted to the leave-one-out residuals of those before and a fraction of it is taken; as many members as the holdout column, or without one the last residuals, score best; an observation has variance noise/w + factor * sum of the members'' latent variances, the two numbers under which the last leave-one-out residuals are likeliest; takes no signal) or auto (a sum or one member alone, whichever scores better: on the held-out rows where there are any, which makes that score a little too good, else by leave-one-out; boosted only when asked for, for it trains on one thread and its score is of another kind); search: none (the features'' bits in turn, weights and noise by the gradient of the likelihood), local, which a sum needs, or bfgs; evaluations: of the likelihood at most, by all members together (default: 2,000 a member of a mixture; for a sum 2.6e9 / rows, from 2,000 to 120,000; boosted the same, to 200,000); noise, signal: variance of an observation and of the latent function in units of the target''s variance, learned when NULL, noise of at least 1/rows then (mean weight/rows); outside: a point with a number outside of the training range counts as one at its end (clamp), or has covariance 0 with every other (prior); holdout: a boolean column, true rows are not trained on and scored; weight: a column of the target''s table, an observation of weight w has variance noise/w, rows of weight 0 are left out; same source, options and seed: same model, whatever the order of the rows and btml.threads; errors name the option and the valid values';

CREATE FUNCTION btml.gp_fit_members(source text, target name, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, bits integer DEFAULT NULL, members integer DEFAULT NULL,
    search text DEFAULT 'local', evaluations integer DEFAULT NULL, noise float8 DEFAULT NULL,
    signal float8 DEFAULT NULL, outside text DEFAULT 'clamp', seed bigint DEFAULT 0, verbose boolean DEFAULT false,
    weight name DEFAULT NULL, OUT member integer, OUT log_likelihood float8, OUT noise float8,
    OUT signal float8, OUT evaluations integer, OUT model btml.model) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 ROWS 10 AS 'MODULE_PATHNAME', 'btml_gp_fit_members';
COMMENT ON FUNCTION btml.gp_fit_members(text, name, name[], name[], integer, integer, text, integer, float8, float8, text, bigint, boolean, name) IS
'the members of btml.gp_fit, each as a model of its own: number from 1, log marginal likelihood of the training rows (nats, target''s units), variances of the noise and of the latent function in units of the target''s variance, evaluations of the likelihood, and the model';

CREATE FUNCTION btml.gp_regression(source text, target name, queries text, features name[] DEFAULT NULL,
    categorical name[] DEFAULT NULL, bits integer DEFAULT NULL, members integer DEFAULT NULL,
    combine text DEFAULT 'auto', search text DEFAULT 'local', evaluations integer DEFAULT NULL,
    noise float8 DEFAULT NULL, signal float8 DEFAULT NULL, outside text DEFAULT 'clamp', holdout name DEFAULT NULL,
    seed bigint DEFAULT 0, verbose boolean DEFAULT false, weight name DEFAULT NULL, OUT id text, OUT mean float8,
    OUT sd float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_gp_regression';
COMMENT ON FUNCTION btml.gp_regression(text, name, text, name[], name[], integer, integer, text, text, integer, float8, float8, text, name, bigint, boolean, name) IS
'btml.gp_fit and btml.predict_normal in one: mean and standard deviation of an observation at each row of queries, a table, view or SELECT with the features by name (more columns are ignored); id: its column id as text, NULL where that is NULL, or the number of the row from 1 where there is no such column';

CREATE FUNCTION btml.gp_log_likelihood(model btml.model) RETURNS float8
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_log_likelihood';
COMMENT ON FUNCTION btml.gp_log_likelihood(btml.model) IS
'log marginal likelihood of the rows that the model holds: total, nats, in the target''s own units; of a mixture, the log of the weighted mean of its members'' likelihoods; NULL for a sum of kernels, whose determinant would only be an estimate, for boosted members, which are no one process, and for NULL; error 42804 for boosted trees';

CREATE FUNCTION btml.gp_leave_one_out(model btml.model, OUT n bigint, OUT mean_nll float8, OUT rmse float8,
    OUT coverage_90 float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE ROWS 1 AS 'MODULE_PATHNAME', 'btml_gp_leave_one_out';
COMMENT ON FUNCTION btml.gp_leave_one_out(btml.model) IS
'every training row predicted from all the others by the kernels of the fit: of a mixture exactly, of a sum from estimates of the inverse''s diagonal by 31 samples (weights are learned from all rows, so it is optimistic by up to 0.15 where the noise is small), of boosted members as if the residuals of the other rows stayed; rows, mean negative log density (nats, target''s units), root of the mean squared error, and the fraction of rows within the central 90 % interval; as of the fit, coverage_90 NULL after btml.gp_update and btml.gp_downdate; no rows for NULL';

CREATE FUNCTION btml.gp_relevance(model btml.model, OUT feature text, OUT weight float8) RETURNS SETOF record
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_relevance';
COMMENT ON FUNCTION btml.gp_relevance(btml.model) IS
'what the bits of each feature add to the prior variance of the latent function, in the target''s units squared, most relevant first; no rows for NULL';

CREATE FUNCTION btml.gp_sample(model btml.model, source text, draws integer DEFAULT 1, seed bigint DEFAULT 0,
    OUT draw integer, OUT row_number bigint, OUT id text, OUT value float8) RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT AS 'MODULE_PATHNAME', 'btml_gp_sample';
COMMENT ON FUNCTION btml.gp_sample(btml.model, text, integer, bigint) IS
'joint draws of the latent function (no observation noise) at all rows of source together, in the target''s units, from the posterior, of a mixture exactly, of a sum as far as its systems are solved (sixteen draws cost one solution; error 54000 where the residual of a draw''s is above 0.05) and with its calibration; source: a table, view or SELECT with the features by name; draws, rows and ids as text, numbered from 1; of a mixture, each draw is of one member, chosen with its probability; the same seed gives the same draws; no rows for a NULL model; error 0A000 for boosted members, which have no joint distribution; of a sum, 22023 for a point with a value that no training row has';

CREATE FUNCTION btml.gp_update(model btml.model, x float8[], y float8) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_update_array';
CREATE FUNCTION btml.gp_update(model btml.model, input record, y float8) RETURNS btml.model
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_update_record';
CREATE FUNCTION btml.gp_downdate(model btml.model, x float8[], y float8) RETURNS btml.model
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_downdate_array';
CREATE FUNCTION btml.gp_downdate(model btml.model, input record, y float8) RETURNS btml.model
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'btml_gp_downdate_record';
COMMENT ON FUNCTION btml.gp_update(btml.model, float8[], float8) IS
'the model given one observation more, of weight 1; kernels, noise, calibration and the scale of the target stay as trained; a mixture exactly, in time of the model''s bytes; boosted members exactly, by making their residuals anew; a sum by solving its systems again, which takes as long as the end of its training (error 54000 where a residual of them is above 0.05: fit it anew); x as for btml.predict; a point outside of the training range, with a NOTICE, counts as one at its end, or under outside => ''prior'' leaves the model as it is; error 22023 for a NULL or a category that no training row has, 22003 for a target more than 1e15 standard deviations from the trained ones'' mean; NULL for a NULL model';
COMMENT ON FUNCTION btml.gp_update(btml.model, record, float8) IS
'the same with features by column name, as btml.predict finds them';
COMMENT ON FUNCTION btml.gp_downdate(btml.model, float8[], float8) IS
'the model without one observation of weight 1 that it has: the inverse of btml.gp_update, of a mixture and boosted members up to rounding; error 22023 for an observation that is not in the model, and for the only one of a sum or of boosted members';
COMMENT ON FUNCTION btml.gp_downdate(btml.model, record, float8) IS
'the same with features by column name, as btml.predict finds them';

-- Training inside GROUP BY.

CREATE FUNCTION btml.gp_fit_accumulate(btml.training_rows, float8, float8[], jsonb) RETURNS btml.training_rows
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_fit_accumulate';
CREATE FUNCTION btml.gp_fit_final(btml.training_rows) RETURNS btml.model
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'btml_gp_fit_final';
COMMENT ON FUNCTION btml.gp_fit_accumulate(btml.training_rows, float8, float8[], jsonb) IS 'transition function of btml.gp_fit_agg';
COMMENT ON FUNCTION btml.gp_fit_final(btml.training_rows) IS 'final function of btml.gp_fit_agg';

CREATE AGGREGATE btml.gp_fit_agg(y float8, x float8[]) (
    SFUNC = btml.training_rows_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml.training_rows_combine,
    FINALFUNC = btml.gp_fit_final, PARALLEL = SAFE
);
CREATE AGGREGATE btml.gp_fit_agg(y float8, x float8[], options jsonb) (
    SFUNC = btml.gp_fit_accumulate, STYPE = btml.training_rows, SSPACE = 2048, COMBINEFUNC = btml.training_rows_combine,
    FINALFUNC = btml.gp_fit_final, PARALLEL = SAFE
);
COMMENT ON AGGREGATE btml.gp_fit_agg(float8, float8[]) IS
'a Gaussian process for each group of any query: y is the target, x the features x1 … xd by position; a NULL element of x is a missing value, a NULL y skips the row; NULL for no rows';
COMMENT ON AGGREGATE btml.gp_fit_agg(float8, float8[], jsonb) IS
'the same with options: a JSON object with names and values of btml.gp_fit''s options bits, members, combine, search, evaluations, noise, signal, outside and seed, the same in every row';
