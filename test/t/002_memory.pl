# Memory: failed and cancelled calls leak nothing, and btml.memory_limit bounds what a backend holds.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

# Few shared buffers: those that a backend has touched are part of its peak.
my $node = new_cluster('memory', conf => "shared_buffers = 8MB\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE good AS SELECT i, i % 3 AS k, i % 17 / 7.0 AS y, sin(i) AS a, md5(i::text) AS label FROM generate_series(1, 4000) AS i;
CREATE TABLE late AS SELECT CASE WHEN i < 4000 THEN y ELSE 'NaN' END AS y, a, label FROM good;
CREATE TABLE long AS SELECT i % 100 / 7.0 AS y, sin(i) AS a, cos(i) AS b, i % 1000 AS c FROM generate_series(1, 500000) AS i;
CREATE TABLE thing AS SELECT i AS id FROM generate_series(1, 40) AS i;
ALTER TABLE thing ADD PRIMARY KEY (id);
CREATE TABLE event AS SELECT CASE WHEN i % 4 = 0 THEN 1 + i % 40 ELSE 1 END AS thing, timestamp '2020-01-01' + i * interval '5 minutes' AS at, sin(i) AS a, md5((i / 2)::text) AS label
	FROM generate_series(1, 200000) AS i;
ALTER TABLE event ADD FOREIGN KEY (thing) REFERENCES thing;
CREATE TABLE first_events AS SELECT * FROM event WHERE at < '2020-02-01';
CREATE TABLE ask AS SELECT 1 + i % 40 AS thing, timestamp '2020-01-01' + i * interval '5 hours' AS as_of, i % 7 + sin(i) AS y FROM generate_series(1, 1000) AS i;
ALTER TABLE ask ADD FOREIGN KEY (thing) REFERENCES thing;
CREATE FUNCTION divide(i int) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / (i - 2000); END $$;
SQL
my ($session, $pid) = session($node);
# One thing has three quarters of all rows. All columns are asked for, or none would be computed.
my $of_things = $session->query(q{SELECT btml.feature_sql(btml.relational_features('ask', as_of => 'as_of'), 'ask')});
my $of_bytes = 'SELECT count(h) FROM (SELECT btml.history_last(at, since, ARRAY[repeat(label, 1000000)]) OVER (ORDER BY at) AS h FROM (SELECT at, label, NULL::timestamp[] AS since FROM event LIMIT 1) AS e) AS f';

# Ways to fail, each deeper in a call than the one before.
my %failures = (
	'a bad option' => [ q{SELECT btml.boost_fit('good', 'y', trees => -1)}, qr/trees/ ],
	'a bad source' => [ q{SELECT btml.boost_fit('SELECT y, a FROM good JOIN nowhere USING (k)', 'y')}, qr/"nowhere" does not exist/ ],
	'a bag of a cyclic join' => [
		q{SELECT btml.boost_fit('SELECT r.y, r.a FROM good r, good s, good t, good u, good v, good w
			WHERE r.i % 63 = s.i % 63 AND s.i % 63 = t.i % 63 AND r.i % 61 = u.i % 63 AND u.i % 63 = v.i % 63
			AND s.i % 61 = u.i % 61 AND u.i % 61 = w.i % 63 AND t.i % 61 = v.i % 61 AND v.i % 61 = w.i % 61', 'y')}, qr/bag of the cyclic join/ ],
	'a function failing in the middle of a scan' => [ q{SELECT btml.boost_fit('SELECT y, label, divide(i) FROM good', 'y')}, qr/division by zero/ ],
	'a target of NaN at the end' => [ q{SELECT btml.boost_fit('late', 'y')}, qr/NaN/ ],
	'the memory limit' => [ q{SELECT btml.boost_fit('SELECT x.y, x.a, z.label FROM good x JOIN good z USING (k)', 'y', strategy => 'enumerate')}, qr/memory required is/ ],
	'the memory limit of a sample' => [ q{SELECT count(*) FROM btml.sample_join('SELECT x.label, z.a FROM good x JOIN good z USING (k)', 1000000) AS t(label text, a float8)}, qr/memory required is/ ],
	'the rows of a sample' => [ q{SELECT count(*) FROM btml.sample_join('SELECT repeat(label, 500) AS label FROM good', 4000) AS t(label text)}, qr/memory required is/ ],
	'a row too wide to keep' => [ q{SELECT count(*) FROM btml.sample_join($$SELECT repeat('wide', 5000000) AS label FROM good WHERE i = 1$$, 0) AS t(label text)}, qr/memory required is/ ],
	'the memory limit of a sample to train on' => [ q{SELECT btml.boost_fit('SELECT x.y, x.a, z.label FROM good x JOIN good z USING (k)', 'y', strategy => 'sample', sample_rows => 2000000)}, qr/memory required is/ ],
	'the memory limit of folds' => [ q{SELECT * FROM btml.cross_validate('SELECT x.y, x.a, z.label FROM good x JOIN good z USING (k)', 'y', options => '{"strategy": "enumerate"}')}, qr/memory required is/ ],
	'the memory limit of folds side by side' => [ q{SELECT * FROM btml.cross_validate('SELECT y, a, k FROM good', 'y', 1000, options => '{"early_stopping": 5}')}, qr/memory required is/ ],
	'the rows of one thing' => [ "SELECT count(f) FROM ($of_things) AS f", qr/memory required is \d+ kB, btml.memory_limit is 16384 kB\nDETAIL:  .*rows of one thing/ ],
	'the texts of one row' => [ $of_bytes, qr/memory required is \d+ kB, btml.memory_limit is 16384 kB\nDETAIL:  .*texts of one row/ ],
	'features with a bad relation' => [ q{SELECT btml.relational_features('ask', as_of => 'as_of', relations => '{"events": {"time": "at"}}')}, qr/none that foreign keys lead to/ ],
	'a plan of features too long to read' => [ q{SELECT btml.feature_list(jsonb_build_object('features', (SELECT jsonb_agg(label) FROM event)))}, qr/memory required is/ ],
	'the memory limit of a factorised join' => [ q{SELECT btml.boost_fit('SELECT x.y, x.a, z.label FROM good x JOIN good z USING (k)', 'y', trees => 100000, strategy => 'factorize')}, qr/memory required is/ ]);
# Statements whose rows are long take long, so that they have fewer rounds, in which less may leak.
my %is_long = map { $_ => 1 } 'the rows of a sample', 'a row too wide to keep', 'the rows of one thing', 'the texts of one row', 'a plan of features too long to read';
# What PostgreSQL has sorted leaves malloc with more or less: the rows of one thing fail in subtransactions below.
my $long = join(";\n", map { $failures{$_}[0] } grep { $_ ne 'the rows of one thing' } sort keys %is_long);
my $short = join(";\n", map { $failures{$_}[0] } grep { !$is_long{$_} } sort keys %failures);

$session->query("SET btml.memory_limit = '16MB'");
fails($session, $failures{$_}[0], $failures{$_}[1], $_) for sort keys %failures;
fails($session, q{SELECT btml.boost_fit('SELECT x.label, z.a FROM (SELECT * FROM good LIMIT 1000) x JOIN good z USING (k) WHERE z.i < 10', 'label', strategy => 'enumerate')}, qr/memory required is/, 'the memory limit of many labels');
fails($session, q{SELECT btml.boost_fit('SELECT x.y > 1 AS y, x.a, z.i % 2 = 0 AS h FROM good x JOIN good z USING (k) WHERE z.i < 500', 'y', holdout => 'h', metric => 'auc', strategy => 'enumerate')}, qr/memory required is/, 'the memory limit of a metric');

# flat(<name>, <statements>, <error>): the memory of the backend after 50 and after 200 rounds, or those given.
sub flat
{
	my ($name, $statements, $error, $first, $second) = (@_, 50, 150);
	my @kb;
	for my $rounds ($first, $second)
	{
		# A few at a time: a pipe that is full fails.
		$session->query("$statements;\n" x 10) for 1 .. $rounds / 10;
		my $errors = () = $session->{stderr} =~ /$error/g;
		cmp_ok($errors, '>=', 0.9 * $rounds, "$name: the errors of $rounds rounds");
		$session->{stderr} = '';
		push @kb, status_kb($pid, 'RssAnon'); # shared buffers do not count
	}
	note("$name: @kb kB");
	cmp_ok($kb[1] - $kb[0], '<', 4096 * $second / 150, "$name: memory stays flat");
	return;
}

flat('failures', $short, qr/division by zero/);
flat('failures of long rows', $long, qr/the rows of a sample/, 10, 20);
$session->query("SET btml.memory_limit = '256MB'");
flat('plans of features', q{SELECT btml.relational_features('ask', as_of => 'as_of', target => 'y', windows => '{NULL}', relations => '{"e": {"table": "first_events", "key": {"thing": "thing"}}}') IS NULL; SELECT divide(2000)},
	qr/division by zero/, 20, 60);
$session->query("SET btml.memory_limit = '16MB'");
$session->query('SET statement_timeout = 5');
flat('cancelled in a scan', q{SELECT btml.boost_fit('long', 'y')}, qr/statement timeout/);
$session->query('SET statement_timeout = 30');
flat('cancelled in training', q{SELECT btml.boost_fit('SELECT y, a, k FROM good', 'y', trees => 100000)}, qr/statement timeout/);
flat('cancelled in training over a factorised join', q{SELECT btml.boost_fit('SELECT x.y, x.a, z.i FROM good x JOIN good z USING (k)', 'y', trees => 300, strategy => 'factorize')}, qr/statement timeout/);
$session->query('RESET statement_timeout');
is($session->query(q{SELECT btml.predict(btml.boost_fit('SELECT y, a FROM good', 'y', trees => 1), ARRAY[0.5]) IS NOT NULL}), 't', 'the session goes on');

# In one transaction, with subtransactions.
$session->query(<<'SQL');
CREATE FUNCTION try(statement text, rounds int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..rounds LOOP
        BEGIN EXECUTE statement; EXCEPTION WHEN OTHERS THEN NULL; END;
    END LOOP;
END $$;
SQL
my $subtransactions = join('; ', map { "SELECT try(\$s\$$failures{$_}[0]\$s\$, " . ($is_long{$_} ? 1 : 5) . ')' } sort keys %failures);
$session->query("BEGIN");
flat_successes('subtransactions', $subtransactions);
$session->query("COMMIT");
is($session->query(q{SELECT btml.sumprod('SELECT FROM good')}), '4000', 'and afterwards');

sub flat_successes
{
	my ($name, $statements) = @_;
	my @kb;
	for my $rounds (5, 20)
	{
		$session->query("$statements;\n" x $rounds);
		push @kb, status_kb($pid, 'RssAnon'); # shared buffers do not count
	}
	note("$name: @kb kB");
	cmp_ok($kb[1] - $kb[0], '<', 4096, "$name: memory stays flat");
	return;
}

# Scores and what goes with them say what they need before they take it; a sum needs next to nothing.
$session->query("SET btml.memory_limit = '8MB'");
my $points = 'SELECT y, a, b, c FROM long';
fails($session, "SELECT btml.$_ IS NULL", qr/memory required is \d+ kB, btml.memory_limit is 8192 kB/, "$_: the memory limit")
  for "kde_score('$points', 1)", "kr_score('$points', 'y', 1)", "kcde_score('$points', 'y', 1, 1)",
  "select_bandwidth('$points', 'kr', 'y')",
  "plot('SELECT a AS x, b AS y FROM long')", "plot('SELECT c AS x, y, repeat(md5(a::text), 100) AS label FROM long', 'point')";
is($session->query(q{SELECT btml.approx_sum('SELECT c FROM long') IS NOT NULL}), 't', 'a sum within the memory limit');
$session->quit;

# The limit holds: what a backend takes beyond it is its own code and caches, shared buffers it touched, stacks and
# arenas of threads.
my $slack_kb = 32 * 1024;
for my $limit_mb (24, 48, 96)
{
	my ($fit, $fit_pid) = session($node);
	$fit->query("SELECT btml.boost_fit('SELECT y, a FROM good', 'y', trees => 1)");
	$fit->query("SET btml.memory_limit = '${limit_mb}MB'");
	$fit->query(q{SELECT length(btml.boost_fit('long', 'y', trees => 3)::bytea)});
	my $peak = status_kb($fit_pid, 'VmHWM');
	note("limit $limit_mb MB: peak $peak kB" . ($fit->{stderr} ? ', refused' : ''));
	if ($fit->{stderr})
	{
		my $limit_kb = 1024 * $limit_mb;
		like($fit->{stderr}, qr/ERROR:  memory required is \d+ kB, btml.memory_limit is $limit_kb kB\nDETAIL:  .*\nHINT:  Raise btml.memory_limit/, "limit $limit_mb MB: the error");
	}
	cmp_ok($peak, '<', 1024 * $limit_mb + $slack_kb, "limit $limit_mb MB: peak memory");
	$fit->quit;
}

# What a call has freed does not stay with the session, though malloc would keep it.
$node->safe_psql('postgres', 'CREATE TABLE wide AS SELECT i % 13 AS y, ' . join(', ', map { "random()::float4 AS c$_" } 1 .. 1598) . ' FROM generate_series(1, 1500) AS i');
my ($wide, $wide_pid) = session($node);
$wide->query("SET btml.memory_limit = '64MB'");
is($wide->query(q{SELECT btml.boost_fit('wide', 'y', trees => 3) IS NULL}), 'f', 'a fit of 1,598 features');
my $kept = status_kb($wide_pid, 'RssAnon');
note("a session after it: $kept kB");
cmp_ok($kept, '<', 16 * 1024, 'a session after a fit of 1,598 features');
$wide->quit;

# The limit holds for what reads models, draws and prints: a model that fits, one that does not, many that do not fit together.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE models (id int, model btml.model);
ALTER TABLE models ALTER model SET STORAGE EXTERNAL;
SET btml.memory_limit = '4GB';
INSERT INTO models SELECT i, btml.boost_fit('SELECT hashint4(i) AS y, hashint4(-i) AS a, hashint4(2 * i) AS b FROM generate_series(1, 3000) AS i', 'y', trees => CASE i WHEN 1 THEN 250 ELSE 14 END, max_leaves => 0, min_leaf_rows => 1, seed => i)
    FROM generate_series(1, 11) AS i;
CREATE TABLE written (id int, text text);
ALTER TABLE written ALTER text SET STORAGE EXTERNAL;
INSERT INTO written SELECT id, btml.to_lightgbm(model) FROM models WHERE id IN (1, 2);
CREATE TABLE labelled AS SELECT btml.boost_fit('SELECT repeat(md5((i % 300)::text), 10000) AS label, i % 300 % 7 AS y FROM generate_series(1, 600) AS i', 'y', trees => 20, min_leaf_rows => 1) AS model;
CREATE TABLE many_labels AS SELECT btml.boost_fit('SELECT i::text AS label, i % 7 AS y FROM generate_series(1, 400000) AS i', 'y', trees => 1, max_leaves => 2) AS model;
CREATE TABLE exemplars AS SELECT jsonb_agg(jsonb_build_object('id', md5(i::text), 'x', ARRAY[sin(i), cos(i)])) AS list FROM generate_series(1, 200000) AS i;
CREATE TABLE packed AS SELECT repeat('abcdefgh', 5000000) AS t, i AS y FROM generate_series(1, 2) AS i;
CREATE TABLE drawn AS SELECT btml.gp_fit('SELECT y, a FROM good LIMIT 500', 'y', search => 'none', combine => 'mixture') AS model;
SQL
my $required = qr/ERROR:  memory required is \d+ kB, btml.memory_limit is 32768 kB/;
my %held = (
	'many models' => [ 'SELECT sum(btml.predict(model, ARRAY[0.5, 0.5])) IS NOT NULL FROM models WHERE id > 1', 't' ],
	'a large model to explain' => [ 'SELECT btml.shap(model, ARRAY[0.5, 0.5]) FROM models WHERE id = 1', $required ],
	'a large model' => [ 'SELECT btml.predict(model, ARRAY[0.5, 0.5]) FROM models WHERE id = 1', $required ],
	'SQL of a model' => [ 'SELECT btml.to_sql(model) IS NULL FROM models WHERE id = 1', $required ],
	'a large model for LightGBM' => [ 'SELECT btml.to_lightgbm(model) IS NULL FROM models WHERE id = 1', $required ],
	'a large model from LightGBM' => [ 'SELECT btml.from_lightgbm(text) IS NULL FROM written WHERE id = 1', $required ],
	'a model from LightGBM' => [ 'SELECT btml.from_lightgbm(text) IS NULL FROM written WHERE id = 2', 'f' ],
	'SQL of long labels' => [ 'SELECT btml.to_sql(model) IS NULL FROM labelled', $required ],
	'a summary of long labels' => [ 'SELECT btml.summary(model) IS NULL FROM labelled', $required ],
	'a summary of many labels' => [ 'SELECT btml.summary(model) IS NULL FROM many_labels', $required ],
	'models that are equal' => [ 'SELECT a.model OPERATOR(btml.=) b.model AND a.model OPERATOR(btml.>=) b.model FROM labelled a, labelled b', 't' ],
	'text of a model' => [ 'SELECT model::text IS NULL FROM models WHERE id = 1', $required ],
	'reading long labels' => [ q{SELECT btml.tree_fit('SELECT repeat(md5(i::text), 1000) AS label, i AS y FROM generate_series(1, 600) AS i', 'y') IS NULL}, $required ],
	'reading few labels that are long' => [ q{SELECT btml.boost_fit('SELECT repeat(''abcdefgh'', 125000 + i % 3) AS label, i AS y FROM generate_series(1, 300) AS i', 'y', trees => 1) IS NULL}, 'f' ],
	'a row with a label longer than the limit' => [ q{SELECT btml.boost_fit('SELECT t AS label, y FROM packed', 'y', trees => 1) IS NULL}, $required ],
	'an aggregate of a label that fits once' => [ q{SELECT btml.boost_fit_agg(CASE WHEN i = 500 THEN repeat('abcdefgh', 800000) ELSE 'v' || i % 5 END, ARRAY[i::float8], '{"trees": 1}'::jsonb) IS NULL FROM good}, $required ],
	'many exemplars' => [ 'SELECT btml.nearest_exemplar(ARRAY[1, 2], list) IS NULL FROM exemplars', $required ],
	'a tensor sketch' => [ 'SELECT btml.tensor_sketch_agg(y, ARRAY[label], 4000000, 0) IS NULL FROM good', $required ],
	'nodes of a model' => [ 'SELECT count(*) > 50000 FROM models, btml.trees(model) WHERE id = 2', 't' ],
	'draws with ids' => [ q{SELECT count(*) FROM drawn, btml.gp_sample(model, 'SELECT repeat(md5(i::text), 4) AS id, a FROM good', 400)}, '1600000' ]);
for my $name (sort keys %held)
{
	my ($statement, $expected) = @{ $held{$name} };
	my ($reader, $reader_pid) = session($node);
	$reader->query("SELECT btml.version()");
	$reader->query("SET btml.memory_limit = '32MB'");
	my $result = $reader->query($statement);
	my $peak = status_kb($reader_pid, 'VmHWM');
	note("$name: peak $peak kB");
	ref $expected ? like($reader->{stderr}, $expected, "$name: the error") : is($result, $expected, "$name: the result");
	cmp_ok($peak, '<', 32 * 1024 + $slack_kb, "$name: peak memory");
	$reader->{stderr} = '';
	$reader->quit;
}

done_testing();
