-- Cross-validation scores of kernel methods by stratified multi-stage Monte Carlo.

CREATE FUNCTION btml.kde_score(source text, bandwidth float8, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.95, method text DEFAULT 'auto', strata numeric DEFAULT NULL,
    min_samples numeric DEFAULT NULL, tolerance float8 DEFAULT NULL, seed numeric DEFAULT 0,
    scale text DEFAULT 'none', kernel text DEFAULT 'gaussian', args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kde_score';
COMMENT ON FUNCTION btml.kde_score(text, float8, float8, float8, text, numeric, numeric, float8, numeric, text, text, text[]) IS
'the least-squares leave-one-out score of kernel density estimation, lower is better: the mean over rows of the integral of the
squared density of the other rows less twice that density at the row (Holmes, Gray, Isbell: Ultrafast Monte Carlo for
Statistical Summations, section 2); bandwidth in column units; sampled: until the error is at most epsilon
times the score with probability confidence; std_error 0: exact; same rows in any order, options and seed: same bytes, whatever
btml.threads; options: contrib_docs/monte_carlo.md';

CREATE FUNCTION btml.likelihood_score(source text, bandwidth float8, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.95, method text DEFAULT 'auto', strata numeric DEFAULT NULL,
    min_samples numeric DEFAULT NULL, tolerance float8 DEFAULT NULL, seed numeric DEFAULT 0,
    scale text DEFAULT 'none', kernel text DEFAULT 'gaussian', args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_likelihood_score';
COMMENT ON FUNCTION btml.likelihood_score(text, float8, float8, float8, text, numeric, numeric, float8, numeric, text, text, text[]) IS
'minus the mean leave-one-out log-likelihood of kernel density estimation, in nats, lower is better: -(1/n) sum_i log of the density of the other rows at row i (Silverman: Density Estimation for Statistics and Data Analysis, section 3.4.4); epsilon is an absolute error, in nats; points, the other arguments and the result as for btml.kde_score';

CREATE FUNCTION btml.kr_score(source text, target name, bandwidth float8, epsilon float8 DEFAULT 0.1,
    confidence float8 DEFAULT 0.95, method text DEFAULT 'auto', strata numeric DEFAULT NULL,
    min_samples numeric DEFAULT NULL, tolerance float8 DEFAULT NULL, seed numeric DEFAULT 0,
    scale text DEFAULT 'none', kernel text DEFAULT 'gaussian', args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kr_score';
COMMENT ON FUNCTION btml.kr_score(text, name, float8, float8, float8, text, numeric, numeric, float8, numeric, text, text, text[]) IS
'leave-one-out mean squared error of kernel regression, S_KR: (1/n) sum_i (target_i - the other rows'' targets averaged with the kernel''s weights of their distance to row i)^2; rows with a NULL target are left out, with a NOTICE; where all weights of a row underflow, its nearest row alone counts; the other arguments and the result as for btml.kde_score';

CREATE FUNCTION btml.kcde_score(source text, target name, bandwidth float8, target_bandwidth float8,
    epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.95, method text DEFAULT 'auto',
    strata numeric DEFAULT NULL, min_samples numeric DEFAULT NULL, tolerance float8 DEFAULT NULL,
    seed numeric DEFAULT 0, scale text DEFAULT 'none', kernel text DEFAULT 'gaussian',
    args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_kcde_score';
COMMENT ON FUNCTION btml.kcde_score(text, name, float8, float8, float8, float8, text, numeric, numeric, float8, numeric, text, text, text[]) IS
'least-squares leave-one-out score of kernel conditional density estimation, S_KCDE, lower is better: (1/n) sum_i [integral of f_i(y)^2 dy - 2 f_i(target_i)], f_i the conditional density of the target at row i from the other rows, with the kernel''s weights of bandwidth in the coordinates and Gaussian kernels of target_bandwidth in the target; the other arguments and the result as for btml.kr_score';

CREATE FUNCTION btml.select_bandwidth(source text, score text, target name DEFAULT NULL, lower float8 DEFAULT NULL,
    upper float8 DEFAULT NULL, steps numeric DEFAULT 30, epsilon float8 DEFAULT 0.1, confidence float8 DEFAULT 0.95,
    method text DEFAULT 'auto', strata numeric DEFAULT NULL, min_samples numeric DEFAULT NULL,
    tolerance float8 DEFAULT NULL, seed numeric DEFAULT 0, scale text DEFAULT 'none', kernel text DEFAULT 'gaussian',
    args text[] DEFAULT NULL,
    OUT bandwidth float8, OUT target_bandwidth float8, OUT score float8, OUT std_error float8, OUT best boolean)
RETURNS SETOF record
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 ROWS 30 AS 'MODULE_PATHNAME', 'btml_select_bandwidth';
COMMENT ON FUNCTION btml.select_bandwidth(text, text, name, float8, float8, numeric, float8, float8, text, numeric, numeric, float8, numeric, text, text, text[]) IS
'the curve of a cross-validation score over bandwidths, and its least: a row for each bandwidth scored, ascending, best true
for one; score: kde, likelihood, kr or kcde, the latter two of a target; lower and upper: range of the bandwidth, by default
from the rows'' distances and spread; a NOTICE where the best is at an end; std_error: of the score, above that of the
differences from the best; target_bandwidth is NULL but for kcde; options: contrib_docs/monte_carlo.md';

CREATE FUNCTION btml.approx_sum(source text, epsilon float8 DEFAULT 0.01, confidence float8 DEFAULT 0.95,
    seed numeric DEFAULT 0, args text[] DEFAULT NULL) RETURNS btml.estimate
LANGUAGE C VOLATILE CALLED ON NULL INPUT COST 1000000 AS 'MODULE_PATHNAME', 'btml_approx_sum';
COMMENT ON FUNCTION btml.approx_sum(text, float8, float8, numeric, text[]) IS
'the sum of the one output column of source, NULLs skipped, with a relative error of at most epsilon with probability
confidence (Holmes, Gray, Isbell: Ultrafast Monte Carlo for Statistical Summations, Algorithm 1): of a plain table of 4,000
pages or more from a random sample of its pages, else, or where a sample does not pay, exactly, std_error 0; evaluations: rows
read; a sample cannot tell of a few huge values that it has not met; error 22003 for NaN and infinities';
