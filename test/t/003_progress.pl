# btml.progress: other sessions see a running call, and nothing of it afterwards, however it ended.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

my $node = new_cluster('progress', conf => 'restart_after_crash = on');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE data AS SELECT i % 100 / 7.0 AS y, sin(i) AS a, cos(i) AS b FROM generate_series(1, 100000) AS i;
CREATE ROLE watcher LOGIN;
CREATE FUNCTION sleepy(float8) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.0005); RETURN $1; END $$;
SQL
my ($trainer, $trainer_pid) = session($node);
my ($watcher) = session($node, user => 'watcher');
my $fit = q{SELECT btml.boost_fit('data', 'y', trees => 100000)};

is($watcher->query('SELECT count(*) FROM btml.progress'), '0', 'nothing runs');

sub training { wait_for($node, "SELECT EXISTS (SELECT FROM btml.progress WHERE pid = $trainer_pid AND phase = 'growing trees' AND done > 0)"); return }

send_statement($trainer, $fit);
training();
is($watcher->query('SELECT pid, function, phase, total FROM btml.progress'), "$trainer_pid|boost_fit|growing trees|100000", 'a user without privileges sees a running call');
my ($done) = $watcher->query('SELECT done FROM btml.progress');
ok($watcher->query('SELECT done BETWEEN 1 AND total AND started_at BETWEEN now() - interval \'1 hour\' AND now() FROM btml.progress') eq 't',
	'done and started_at make sense');
ok($node->poll_query_until('postgres', "SELECT done > $done FROM btml.progress"), 'done moves');

my ($second, $second_pid) = session($node);
send_statement($second, q{SELECT btml.sumprod('SELECT sleepy(a) FROM data OFFSET 0')});
ok($node->poll_query_until('postgres', 'SELECT count(*) = 2 FROM btml.progress'), 'two sessions');
is($watcher->query("SELECT function, phase, done, total, eta FROM btml.progress WHERE pid = $second_pid"), 'sumprod|reading tables|0||', 'a phase without a total');

$node->safe_psql('postgres', "SELECT pg_cancel_backend($trainer_pid)");
finish_statement($trainer);
is($watcher->query('SELECT pid FROM btml.progress'), $second_pid, 'a cancelled call is gone');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($second_pid, 10000)");
is($watcher->query('SELECT count(*) FROM btml.progress'), '0', 'a terminated call is gone');

($second, $second_pid) = session($node);
send_statement($second, q{SELECT count(*) FROM btml.exemplars('SELECT * FROM data LIMIT 2000', 5, 'variance', 'y')});
ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM btml.progress WHERE pid = $second_pid AND phase = 'learning the kernel' AND done > 0)"),
	'exemplars learn a kernel');
like($watcher->query("SELECT total FROM btml.progress WHERE pid = $second_pid"), qr/^(40|15)$/, 'how long, in evaluations of 500 rows, then of 1,000');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($second_pid)");
finish_statement($second);
$second->quit;

# Each runs for minutes unless cancelled; that the time left is known of the whole call shows in its phase and numbers.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE small AS SELECT * FROM data LIMIT 5000;
CREATE TABLE keys AS SELECT sin(i) AS a, cos(i) AS b, sin(i * 3.1) AS c, sin(i * 5.3) AS d, sin(i * 7.7) AS e, cos(i * 9.1) AS f FROM generate_series(1, 800000) AS i;
SQL
for (['a fit', $fit, 'growing trees'],
	['cross-validation', q{SELECT count(*) FROM btml.cross_validate('small', 'y', folds => 2, options => '{"trees": 100000}')}, 'folds 1 to 2 of 2'],
	['folds with early stopping', q{SELECT count(*) FROM btml.cross_validate('small', 'y', folds => 2, options => '{"trees": 100000, "early_stopping": 100000}')}, 'folds 1 to 2 of 2'],
	['cross-validation of Gaussian processes', q{SELECT count(*) FROM btml.cross_validate('small', 'y', method => 'gp', folds => 2, options => '{"evaluations": 1000000, "combine": "mixture", "members": 1}')}, 'fold 1 of 2: bit order'],
	['tuning', q{SELECT count(*) FROM btml.tune('small', 'y', trials => 4, folds => 2, space => '{"max_leaves": [7, 15, 23, 31]}', options => '{"trees": 20000}')}, 'trial \d of \d, fold \d of 2|trial \d of \d, folds 1 to 2 of 2'],
	['a kernel sum', q{SELECT count(*) FROM btml.kernel_sum('keys', 'SELECT * FROM keys LIMIT 16000', 0.5, method => 'exact')}, 'sums of a kernel'],
	['a Gaussian process', q{SELECT btml.gp_fit('small', 'y', combine => 'mixture', members => 1, evaluations => 1000000)}, 'bit order'])
{
	my ($what, $statement, $phase) = @$_;
	send_statement($trainer, $statement);
	ok($node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM btml.progress WHERE phase ~ '^$phase\$' AND eta BETWEEN interval '0' AND interval '1 day')"), "$what: the time left");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($trainer_pid)");
	finish_statement($trainer);
}

$trainer->query(q{SELECT btml.boost_fit('SELECT a, CASE WHEN a > 2 THEN NULL ELSE 1 / (a - a)::int END AS y FROM data', 'y')});
like($trainer->{stderr}, qr/division by zero/, 'a call fails');
$trainer->{stderr} = '';
is($watcher->query('SELECT count(*) FROM btml.progress'), '0', 'a failed call is gone');
$trainer->query(q{SELECT btml.boost_fit('data', 'y', trees => 2)});
is($watcher->query('SELECT count(*) FROM btml.progress'), '0', 'a finished call is gone');

# Of minutes that a fit will take it tells after five seconds and a hundredth of the work; a short one says nothing.
send_statement($trainer, q{SELECT btml.describe(btml.boost_fit('data', 'y', trees => 150000, learning_rate => 1e-6))});
wait_for($node, "SELECT EXISTS (SELECT FROM btml.progress WHERE pid = $trainer_pid AND done > 0.015 * total AND started_at < clock_timestamp() - interval '7 s')");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($trainer_pid)");
like(finish_statement($trainer), qr/NOTICE:  boost_fit will take about \d+ more minutes?\n.*HINT:  btml\.progress shows.*ERROR:  canceling statement due to user request/s, 'a long fit says so before long');
$trainer->query(q{SELECT btml.boost_fit('data', 'y', trees => 2)});
unlike($trainer->{stderr}, qr/more minute/, 'a short one does not');

# A call within the source of another.
$node->safe_psql('postgres', q{CREATE FUNCTION nested() RETURNS float8 LANGUAGE sql VOLATILE AS $$ SELECT btml.sumprod('SELECT sleepy(a) FROM data LIMIT 10000') $$});
send_statement($trainer, q{SELECT btml.sumprod('SELECT a * nested() FROM data LIMIT 1')});
ok($node->poll_query_until('postgres', "SELECT count(*) = 2 FROM btml.progress WHERE pid = $trainer_pid"), 'a call within another has a row of its own');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($trainer_pid)");
finish_statement($trainer);
is($watcher->query('SELECT count(*) FROM btml.progress'), '0', 'both are gone');

# After a crash of one process all start anew.
send_statement($trainer, $fit);
training();
kill 'KILL', $trainer_pid;
$watcher->{run}->finish;
wait_for_restart($node);
is($node->safe_psql('postgres', 'SELECT count(*) FROM btml.progress'), '0', 'nothing is left after a crash');
is($node->safe_psql('postgres', q{SELECT btml.sumprod('SELECT FROM data')}), '100000', 'calls go on after a crash');

done_testing();
