# Cancellation, statement_timeout and termination in every part of a call: it ends soon, and the session goes on as if
# nothing had happened.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The promise is 200 ms from the signal to the end of the statement. A machine with other things to do may exceed it once
# or twice, so it holds for most times, and a place that looks slow is measured again; no single one is very late.
my $limit_ms = 200;
my $ceiling_ms = 2000;
my $max_times = 9;
my $max_rounds = 3;

my $node = new_cluster('cancel');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wide WITH (fillfactor = 80) AS SELECT i % 3 AS k, i % 1000 / 7.0 AS y, sin(i) AS a, cos(i) AS b, sin(i * 0.7) AS c, ln(i) AS d
    FROM generate_series(1, 400000) AS i;
CREATE TABLE few AS SELECT k, y, a FROM wide LIMIT 2000;
CREATE TABLE many AS SELECT i % 3 AS k, i AS z FROM generate_series(1, 15000) AS i;
CREATE TABLE edges AS SELECT i % 2000 AS a, i * 7 % 1999 AS b FROM generate_series(1, 1200000) AS i;
CREATE TABLE labels AS SELECT md5(i::text) AS label, i % 10 AS y FROM generate_series(1, 400000) AS i;
CREATE FUNCTION apart(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN abs(a - b); END';
CREATE TABLE kept AS SELECT btml.boost_fit('few', 'y') AS model;
-- A model of so many nodes that everything takes a while. PostgreSQL compresses values without polling.
CREATE TABLE large (model btml.model, text text);
ALTER TABLE large ALTER model SET STORAGE EXTERNAL, ALTER text SET STORAGE EXTERNAL;
-- Ordinary aggregates over joins are factorized in every session, whatever that costs, and have the memory for it.
ALTER DATABASE postgres SET session_preload_libraries = 'btml';
ALTER DATABASE postgres SET btml.factorize_aggregates = exact;
ALTER DATABASE postgres SET btml.force_factorize_aggregates = on;
ALTER DATABASE postgres SET hash_mem_multiplier = 100;
SET btml.memory_limit = '4GB';
INSERT INTO large SELECT btml.boost_fit('SELECT hashint4(i) AS y, hashint4(-i) AS a, hashint4(2 * i) AS b FROM generate_series(1, 3000) AS i', 'y', trees => 2400, max_leaves => 0, min_leaf_rows => 1);
UPDATE large SET text = model::text;
CREATE TABLE written (text text);
ALTER TABLE written ALTER text SET STORAGE EXTERNAL;
INSERT INTO written SELECT btml.to_lightgbm(btml.boost_fit('SELECT hashint4(i) AS y, hashint4(-i) AS a FROM generate_series(1, 3000) AS i', 'y', trees => 250, max_leaves => 0, min_leaf_rows => 1));
CREATE VIEW elsewhere AS SELECT written.* FROM written, generate_series(1, 300) OFFSET 0;
CREATE TABLE categorized AS SELECT '{"learner": {"learner_model_param": {"num_feature": "60000"}, "objective": {"name": "reg:squarederror"}, "gradient_booster": {"name": "gbtree", "model": {"trees": [], "tree_info": []}}}}' AS text,
    jsonb_object_agg('f' || i, '[]'::jsonb) AS given FROM generate_series(0, 59999) AS i;
-- Things of which one has most of 400,000 rows, and predictions of them.
CREATE TABLE thing AS SELECT i AS id FROM generate_series(1, 300) AS i;
ALTER TABLE thing ADD PRIMARY KEY (id);
CREATE TABLE event AS SELECT CASE WHEN i % 4 = 0 THEN 1 + i % 299 ELSE 1 END AS thing, timestamp '2020-01-01' + i * interval '5 minutes' AS at, sin(i) AS a, i % 100 AS n, md5((i % 200)::text) AS label
    FROM generate_series(1, 400000) AS i;
ALTER TABLE event ADD FOREIGN KEY (thing) REFERENCES thing;
CREATE TABLE ask AS SELECT CASE WHEN i % 2 = 0 THEN 1 + i % 299 ELSE 1 END AS thing, timestamp '2020-01-01' + i * interval '100 minutes' AS as_of, i % 7 + sin(i) AS y
    FROM generate_series(1, 20000) AS i;
ALTER TABLE ask ADD FOREIGN KEY (thing) REFERENCES thing;
CREATE VIEW more_events AS SELECT event.* FROM event, generate_series(1, 50) OFFSET 0;
-- A statement over it that does not end before it is cancelled, however fast the machine.
CREATE VIEW repeated AS SELECT large.* FROM large, generate_series(1, 5) OFFSET 0;

-- Waits for a phase of the victim (any, when NULL) and a little longer, sends a signal, and returns the milliseconds
-- until the statement has ended; NULL when it ended before, or was so quick that it was never seen.
CREATE FUNCTION interrupt_ms(victim int, wanted text, delay float8, terminate boolean DEFAULT false) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    began boolean = false;
    active boolean;
    sent timestamptz;
    last timestamptz = clock_timestamp() + '60 s';
BEGIN
    LOOP
        PERFORM pg_stat_clear_snapshot();
        active := EXISTS (SELECT FROM pg_stat_activity WHERE pid = victim AND state = 'active');
        EXIT WHEN active AND (wanted IS NULL OR EXISTS (SELECT FROM btml.progress WHERE pid = victim AND phase = wanted));
        IF began AND NOT active OR clock_timestamp() > last THEN RETURN NULL; END IF;
        began := active;
        PERFORM pg_sleep(0.001);
    END LOOP;
    PERFORM pg_sleep(delay);
    sent := clock_timestamp();
    PERFORM CASE WHEN terminate THEN pg_terminate_backend(victim) ELSE pg_cancel_backend(victim) END;
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = victim AND state = 'active');
        PERFORM pg_sleep(0.001);
    END LOOP;
    RETURN 1000 * extract(epoch FROM clock_timestamp() - sent);
END
$$;
SQL

my ($session, $pid) = session($node);
$session->query("SET btml.memory_limit = '4GB'");
my $digest = q{SELECT md5(string_agg(t::text, ',')) FROM btml.trees(btml.boost_fit('SELECT * FROM wide LIMIT 20000', 'y', trees => 20)) AS t};
my $before = $session->query($digest);

# All columns are asked for, or none would be computed. PostgreSQL compiles expressions without looking at signals.
my $features = $node->safe_psql('postgres', q{SELECT btml.feature_sql(btml.relational_features('ask', as_of => 'as_of'), 'SELECT ask.* FROM ask, generate_series(1, 50)')});
my $of_features = "SET jit = off;\nSELECT count(f) FROM ($features) AS f";
my $join = 'SELECT x.y, x.a, many.z FROM wide AS x JOIN many USING (k) WHERE x.y < 2';
my $pairs = 'SELECT x.y, x.a FROM wide AS x, few OFFSET 0';
my $any_model = q~"learner_model_param": {"num_feature": "1"}, "objective": {"name": "reg:squarederror"}, "gradient_booster": {"name": "gbtree", "model": {"trees": [], "tree_info": []}}~;
# Models' texts that have one character many times. PostgreSQL soon makes them of long pieces.
sub long_text
{
	my ($function, $begin, $character, $end) = @_;
	return "SELECT count(btml.$function($begin || repeat(repeat('$character', 1000000), 100 + i % 2) || $end)) FROM generate_series(1, 120) AS i";
}
# [name, phase to wait for (NULL: none), seconds into it, statement]
my @places = (
	[ 'reading', 'reading tables', 0.1, "SELECT btml.boost_fit('$pairs', 'y')" ],
	[ 'a sort below a source', 'reading tables', 0.02, q{SELECT btml.sumprod('SELECT a FROM wide, generate_series(1, 5) AS s ORDER BY md5((b + s)::text) OFFSET 0')} ],
	[ 'sorting categories', 'reading tables', 0.15, q{SELECT btml.boost_fit('labels', 'y')} ],
	[ 'joining', 'enumerating the join', 0, "SELECT btml.boost_fit('$join', 'y', strategy => 'enumerate')" ],
	[ 'sampling', 'sampling the join', 0, "SELECT btml.boost_fit('SELECT x.y, x.a, many.z FROM wide AS x JOIN many USING (k)', 'y', strategy => 'sample', sample_rows => 20000000)" ],
	[ 'binning', 'binning features', 0, q{SELECT btml.boost_fit('wide', 'y', max_bins => 0)} ],
	[ 'growing trees', 'growing trees', 0.2, "SELECT btml.boost_fit('$join', 'y', trees => 10000, strategy => 'enumerate')" ],
	[ 'growing trees over a factorised join', 'growing trees', 0.2, "SELECT btml.boost_fit('$join', 'y', trees => 1000, strategy => 'factorize')" ],
	[ 'growing trees of many labels', 'growing trees', 0.2, q{SELECT btml.boost_fit('SELECT (y / 5)::int::text AS y, a, b, c FROM wide', 'y', trees => 1000)} ],
	[ 'quantiles of leaves', 'growing trees', 0.2, q{SELECT btml.boost_fit('wide', 'y', trees => 10000, objective => 'quantile')} ],
	[ 'ranking', 'growing trees', 0.2, q{SELECT btml.boost_fit('SELECT least(y / 30, 4)::int AS y, 1 AS q, a, b, c FROM wide', 'y', trees => 1000, objective => 'rank', query => 'q')} ],
	[ 'a metric of held-out rows', 'growing trees', 0.2, q{SELECT btml.boost_fit('SELECT y > 70 AS y, a, b, a > -0.9 AS h FROM wide', 'y', trees => 10000, holdout => 'h', metric => 'auc')} ],
	[ 'growing a large tree', 'growing trees', 0.2, q{SELECT btml.tree_fit('wide', 'y', max_leaves => 0, min_leaf_rows => 1)} ],
	[ 'sketching', 'sketching', 0.1, q{SELECT btml.sketch_norm('SELECT x.a FROM wide AS x JOIN many USING (k) JOIN few ON few.y = x.y', 'a', 100000)} ],
	[ 'sketching', 'preparing a sketch', 0, q{SELECT btml.sketch_norm('wide', 'a', 50000000)} ],
	[ 'cross-validating', 'folds 1 to 5 of 5', 0.1, q{SELECT count(*) FROM btml.cross_validate('wide', 'y', options => '{"trees": 100, "max_leaves": 255}')} ],
	[ 'folds with early stopping', 'folds 1 to 5 of 5', 0.2, q{SELECT count(*) FROM btml.cross_validate('wide', 'y', options => '{"trees": 10000, "early_stopping": 10000}')} ],
	[ 'tuning', 'trial 2 of 9, folds 1 to 2 of 5', 0.1, q{SELECT count(*) FROM btml.tune('wide', 'y', '{"max_leaves": {"from": 40, "to": 400}}', 9, options => '{"trees": 40}')} ],
	[ 'cross-validating a Gaussian process', 'fold 1 of 5: searching bit orders and kernels', 0.2, q{SELECT count(*) FROM btml.cross_validate('wide', 'y', method => 'gp', options => '{"search": "none", "members": 3}')} ],
	[ 'ordering rows of a linear model', 'sorting rows', 0, q{SELECT btml.linear_fit('SELECT y, a, b, c, d FROM wide, generate_series(1, 8)', 'y', std_error => 'robust')} ],
	[ 'fitting a linear model', 'fitting', 0, q{SELECT btml.linear_fit('SELECT y + 1 AS y, a, b, c, d, k::text AS k FROM wide, generate_series(1, 8)', 'y', family => 'gamma')} ],
	[ 'grouping rows of a linear model over a join', 'grouping rows', 0, q{SELECT btml.linear_fit('SELECT a.y, a.a, a.b, b.c, b.d FROM wide a JOIN wide b ON a.k = b.k', 'y')} ],
	[ 'fitting a linear model over a join', 'fitting', 0, q{SELECT btml.linear_fit('SELECT a.y, a.a, a.b, b.c, b.d, c.a AS e FROM wide a JOIN wide b ON a.k = b.k JOIN wide c ON a.k = c.k', 'y')} ],
	[ 'fitting a linear model of many categories', 'fitting', 0.1, q{SELECT btml.linear_fit('SELECT y, (i % 2000)::text AS c FROM (SELECT y, row_number() OVER () AS i FROM wide) s', 'y')} ],
	[ 'sorting rows of a Gaussian process', 'sorting rows', 0, q{SELECT btml.gp_fit('wide', 'y', search => 'none')} ],
	[ 'searching kernels', 'searching bit orders and kernels', 0.2, q{SELECT btml.gp_fit('wide', 'y', search => 'none', members => 3)} ],
	[ 'building tries', 'building tries', 0.1, q{SELECT btml.gp_fit('wide', 'y', search => 'none', members => 8, evaluations => 8)} ],
	[ 'drawing', 'drawing', 0.1, q{SELECT count(*) FROM btml.gp_sample(btml.gp_fit('few', 'y', search => 'none'), 'few', 100000)} ],
	[ 'reading points', undef, 0.1, "SELECT count(*) FROM btml.kernel_sum('SELECT y, a FROM few', '$pairs', 1, method => 'exact')" ],
	[ 'exact kernel sums', 'sums of a kernel', 0.2, q{SELECT count(*) FROM btml.kernel_sum('SELECT a, b FROM wide', 'SELECT a, b FROM wide', 0.001, method => 'exact')} ],
	[ 'sampled kernel sums', undef, 0.5, q{SELECT count(*) FROM btml.kernel_sum('SELECT a, b FROM wide', 'SELECT a, b FROM wide', 0.001, method => 'sampled', epsilon => 0.001)} ],
	[ 'choosing exemplars', 'choosing exemplars', 0.2, q{SELECT count(*) FROM btml.exemplars('SELECT a, b, c FROM wide', 200, validation => 20000, passes => 10)} ],
	[ 'choosing exemplars by a function', 'choosing exemplars', 0.2, q{SELECT count(*) FROM btml.exemplars('SELECT a AS x FROM wide', 20, dissimilarity => 'apart(float8,float8)', racing => true)} ],
	[ 'learning a kernel', 'learning the kernel', 0.2, q{SELECT count(*) FROM btml.exemplars('SELECT y, a, b, c FROM wide', 20, 'variance', 'y')} ],
	[ 'choosing an active set', 'choosing exemplars', 0.2, q{SELECT count(*) FROM btml.exemplars('SELECT y, a, b, c FROM wide', 200, 'prediction', 'y', length_scales => '{1,1,1}', signal => 1, noise => 1)} ],
	[ 'sampled kernel sums over clusters', undef, 0.3, q{SELECT count(*) FROM btml.kernel_sum('SELECT round(a::numeric, 1) + b / 1000 AS a, c, d FROM wide', 'SELECT round(a::numeric, 1) + b / 1000 AS a, c, d FROM wide', 0.05)} ],
	[ 'a kernel tail', undef, 0.3, q{SELECT btml.kernel_tail_ratio('SELECT a, b FROM wide', 'SELECT a, b FROM wide', 1, method => 'exact')} ],
	[ 'attention', undef, 0.3, q{SELECT count(*) FROM btml.attention('SELECT a, b, ARRAY[y] AS v FROM wide', 'SELECT a, b FROM wide', 'v', method => 'exact')} ],
	[ 'an exact score', 'summing all pairs', 0.1, q{SELECT btml.kr_score('SELECT y, a, b FROM wide', 'y', 0.5, method => 'exact')} ],
	[ 'a kd-tree', undef, 0.7, q{SELECT btml.kcde_score('SELECT y, a, b, c FROM wide', 'y', 0.2, 0.2, 0.0001, method => 'sampled')} ],
	[ 'a sampled score', undef, 2, q{SELECT btml.kde_score('SELECT a, b, c FROM wide', 0.2, 0.0001, method => 'sampled')} ],
	[ 'selecting a bandwidth', undef, 2, q{SELECT count(*) FROM btml.select_bandwidth('SELECT y, a, b, c FROM wide', 'kcde', 'y')} ],
	[ 'a sum by sampling', 'sampling pages', 0.1, q{SELECT btml.approx_sum('SELECT y FROM wide WHERE pg_sleep(0.0001) IS NOT NULL')} ],
	[ 'a sum of all rows', 'summing all rows', 0.1, "SELECT btml.approx_sum('SELECT x.y FROM wide AS x, few OFFSET 0')" ],
	[ 'summing', 'reading tables', 0.05, "SELECT btml.sumprod('$pairs')" ],
	[ 'keeping rows to sample', 'reading tables', 0.05, "SELECT count(*) FROM btml.sample_join('$pairs', 5) AS t(y numeric, a float8)" ],
	[ 'drawing a sample', 'sampling the join', 0.05, "SELECT count(*) FROM btml.sample_join('SELECT x.y, few.a FROM wide AS x, few, many', 20000000) AS t(y numeric, a float8)" ],
	[ 'giving back a sample', undef, 2, "SELECT count(*) FROM btml.sample_join('SELECT x.y, few.a FROM wide AS x, few', 5000000) AS t(y numeric, a float8)" ],
	[ 'predicting', undef, 0.1, 'SELECT sum(btml.predict(model, few.*)) FROM kept, few, many' ],
	[ 'decoding a model', undef, 0.02, 'SELECT ' . join(', ', ('btml.predict(model, ARRAY[0.5, 0.5])') x 5) . ' FROM repeated' ],
	[ 'explaining a row', undef, 0.02, 'SELECT ' . join(', ', ('btml.shap(model, ARRAY[0.5, 0.5])') x 5) . ' FROM repeated' ],
	[ 'interactions', undef, 0.1, 'SELECT count(*) FROM repeated, btml.shap_interactions(model, ARRAY[0.5, 0.5])' ],
	[ 'explaining rows', 'explaining rows', 0.1, q{SELECT count(*) FROM large, btml.shap_importance(model, 'SELECT a, y AS b FROM wide', 100000)} ],
	[ 'partial dependence', 'predicting', 0.1, q{SELECT count(*) FROM large, btml.partial_dependence(model, 'SELECT a, y AS b FROM wide', 'b', sample_rows => 100000)} ],
	[ 'permutation importance', 'predicting', 0.1, q{SELECT count(*) FROM large, btml.permutation_importance(model, 'SELECT a, b, y FROM wide', 'y', sample_rows => 100000)} ],
	[ 'SQL of a model', undef, 0.5, 'SELECT btml.to_sql(model) IS NULL FROM repeated' ],
	[ 'a model from LightGBM', undef, 0.2, q{SELECT btml.from_lightgbm(text) IS NULL FROM elsewhere} ],
	[ 'a model for LightGBM', undef, 0.2, q{SELECT btml.to_lightgbm(model) IS NULL FROM repeated} ],
	[ 'a model from XGBoost', undef, 0.2, q{SELECT btml.from_xgboost('{"a": [' || repeat('1,', 20000000) || '1]}') IS NULL} ],
	[ 'a long string for XGBoost', undef, 0.5, long_text('from_xgboost', q~'{"learner": {"gradient_booster": {"name": "'~, 'x', qq~'"}, $any_model}}'~) ],
	[ 'spaces for XGBoost', undef, 0.5, long_text('from_xgboost', q~'{"learner": {'~, ' ', qq~'$any_model}}'~) ],
	[ 'spaces for LightGBM', undef, 0.5, long_text('from_lightgbm', q~E'tree\nversion=v4\nmax_feature_idx=0\nnum_tree_per_iteration=1\nfeature_names='~, ' ', q~E'a\n\nTree=0\nnum_leaves=1\nleaf_value=1\n\nend of trees\n'~) ],
	[ 'categories of many features', undef, 0.3, q{SELECT btml.from_xgboost(text, given) IS NULL FROM categorized, generate_series(1, 100) OFFSET 0} ],
	[ 'a model to text', undef, 0.1, 'SELECT model::text IS NULL FROM repeated' ],
	[ 'a model from text', undef, 0.2, 'SELECT text::btml.model IS NULL FROM repeated' ],
	[ 'a model from bytes', undef, 0.1, 'SELECT model::bytea::btml.model IS NULL FROM repeated' ],
	[ 'nodes of a model', undef, 0.1, 'SELECT count(*) FROM repeated, btml.trees(model)' ],
	[ 'a summary', undef, 0.1, 'SELECT btml.summary(model) IS NULL FROM repeated' ],
	[ 'importance of features', undef, 0.1, 'SELECT count(*) FROM repeated, btml.feature_importance(model)' ],
	[ 'losses of a model', undef, 0.1, 'SELECT count(*) FROM repeated, btml.training_log(model)' ],
	[ 'aggregating', undef, 0.1, 'SELECT btml.boost_fit_agg(few.y, ARRAY[few.a, many.z]) FROM few, many' ],
	[ 'ranking rows', 'ranking rows', 0.1, 'SELECT btml.auc(y > 50, a * s) FROM wide, generate_series(1, 20) AS s' ],
	[ 'reading rows of a picture', 'reading rows', 0.1, q{SELECT btml.plot('SELECT x.a AS x, x.y FROM wide AS x, few OFFSET 0')} ],
	[ 'sorting rows of a picture', 'sorting rows', 0.1, q{SELECT btml.plot('SELECT a AS x, b AS y FROM wide, generate_series(1, 20)')} ],
	[ 'drawing cells', 'drawing', 0.1, q{SELECT btml.plot('SELECT a AS x, b AS y, c AS value FROM wide, generate_series(1, 10)', 'heatmap')} ],
	[ 'drawing categories', 'drawing', 0.1, q{SELECT btml.plot('SELECT round(y)::text AS x, b AS y FROM wide, generate_series(1, 10)', 'point')} ],
	[ 'a factorized aggregate', 'aggregating a join', 0.05, 'SELECT count(*), sum(x.k * few.k) FROM (SELECT k FROM wide, generate_series(1, 40) OFFSET 0) AS x JOIN few USING (k)' ],
	[ 'a factorized aggregate over a cycle', undef, 0.5, 'SELECT count(*) FROM edges AS x JOIN edges AS y ON x.b = y.a JOIN edges AS z ON y.b = z.a AND z.b = x.a' ],
	[ 'merging groups of a rollup', 'merging groups', 0.1, 'SELECT x.i, count(*), sum(few.k) FROM (SELECT i, i % 5 AS k FROM generate_series(1, 3000000) AS i OFFSET 0) AS x JOIN few USING (k) GROUP BY CUBE (x.i, x.k)' ],
	[ 'ordering keys of a message', 'ordering keys', 0.1, 'SELECT few.y, count(*) FROM few JOIN (SELECT i FROM generate_series(1, 6000000) AS i OFFSET 0) AS x ON x.i > few.k GROUP BY few.y' ],
	[ 'counting texts for features', 'counting texts', 0.3, q{SELECT btml.relational_features('ask', as_of => 'as_of', relations => '{"more": {"table": "more_events", "key": {"thing": "thing"}, "columns": ["label"]}}')} ],
	[ 'comparing numbers for features', 'comparing numbers', 0.3, q{SELECT btml.relational_features('ask', as_of => 'as_of', relations => '{"more": {"table": "more_events", "key": {"thing": "thing"}, "columns": ["a", "n"]}}')} ],
	[ 'checking rows for features', 'checking rows', 0.2, q{SELECT btml.relational_features('SELECT ask.* FROM ask, generate_series(1, 2000) OFFSET 0', as_of => 'as_of')} ],
	[ 'features of a sample', 'reading tables', 0.1, q{SELECT btml.relational_features('ask', target => 'y', as_of => 'as_of')} ],
	[ 'choosing features', 'growing trees', 0.2, q{SELECT btml.relational_features('ask', target => 'y', as_of => 'as_of')} ],
	[ 'sorting rows of features', undef, 0.1, $of_features ],
	[ 'computing features', undef, 2.5, $of_features ],
	[ 'training an aggregate', 'growing trees', 0.1, q{SELECT btml.boost_fit_agg(y, ARRAY[a], '{"trees": 100000}') FROM wide} ],
);

for my $place (@places)
{
	my ($name, $phase, $delay, $statement) = @$place;
	is_soon($name, 1, sub {
		send_statement($session, $statement);
		my $time = interrupt_ms($pid, $phase, $delay);
		like(finish_statement($session), qr/canceling statement due to user request/, "$name: cancelled");
		return $time;
	});
}

# statement_timeout, wherever it happens to strike.
$session->query("\\timing on");
for my $timeout (50, 300, 800)
{
	is_soon("statement_timeout of $timeout ms", 2, sub {
		$session->query("SET statement_timeout = $timeout");
		my $output = $session->query("SELECT btml.boost_fit('wide', 'y', trees => 100000)");
		my ($took) = $output =~ /Time: ([0-9.]+) ms/;
		like($session->{stderr}, qr/canceling statement due to statement timeout/, "timeout of $timeout ms");
		$session->{stderr} = '';
		$session->query('RESET statement_timeout');
		return sprintf('%.0f', $took - $timeout);
	});
}
$session->query("\\timing off");

is($session->query($digest), $before, 'the session fits the same trees as before');
$session->quit;

for my $place (@places)
{
	my ($name, $phase, $delay, $statement) = @$place;
	is_soon("$name, terminated", 1, sub {
		my ($victim, $victim_pid, $time);
		for (1 .. $max_rounds)
		{
			($victim, $victim_pid) = session($node);
			$victim->query("SET btml.memory_limit = '4GB'");
			send_statement($victim, $statement);
			$time = interrupt_ms($victim_pid, $phase, $delay, 'terminate');
			last if $time ne '';
			note("$name: ended before it was seen: " . finish_statement($victim));
			$victim->quit;
		}
		wait_for($node, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $victim_pid)");
		$victim->{run}->finish;
		like($victim->{stderr}, qr/terminating connection due to administrator command/, "$name: terminated");
		return $time;
	});
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM btml.progress'), '0', 'nothing is left in btml.progress');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process crashed');

done_testing();

# Measures how late a statement ends, in milliseconds, until most times are within the limit, and as many as are named.
sub is_soon
{
	my ($name, $least, $measure) = @_;
	my (@times, $good);
	do
	{
		push @times, $measure->();
		$good = grep { $_ < $limit_ms } @times;
	} until $good >= $least && 2 * $good > @times || @times == $max_times;
	note("$name: @times ms");
	cmp_ok(2 * $good, '>', scalar(@times), "$name: ends within $limit_ms ms");
	cmp_ok($_, '<', $ceiling_ms, "$name: never later than $ceiling_ms ms") for @times;
	return;
}

sub interrupt_ms
{
	my ($pid, $phase, $delay, $terminate) = @_;
	my $argument = defined $phase ? "'$phase'" : 'NULL';
	$terminate = $terminate ? 'true' : 'false';
	return $node->safe_psql('postgres', "SELECT round(interrupt_ms($pid, $argument, $delay, $terminate))");
}
