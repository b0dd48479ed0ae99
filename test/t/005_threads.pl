# Threads: their number changes no result, they take no signals, and none survives a call.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs /proc' unless -d "/proc/$$/task";

my $node = new_cluster('threads');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE data AS SELECT i % 3 AS k, i % 100 / 7.0 AS y, sin(i) AS a, cos(i) AS b, 'c' || i % 50 AS c FROM generate_series(1, 50000) AS i;
CREATE TABLE side AS SELECT i % 3 AS k, sqrt(i) AS z FROM generate_series(1, 30) AS i;
SQL
my ($session, $pid) = session($node);
$session->query("SET client_min_messages = warning");

my @fits = (
	q{btml.boost_fit('data', 'y', trees => 20)},
	q{btml.boost_fit('data', 'y', trees => 5, max_bins => 0, criterion => 'mse_sum', row_fraction => 0.5, feature_fraction => 0.5, seed => 7)},
	q{btml.boost_fit('SELECT y, a, z FROM data JOIN side USING (k)', 'y', trees => 5)},
	q{btml.tree_fit('SELECT y, a, b, z FROM data JOIN side USING (k)', 'y', max_leaves => 0, min_leaf_rows => 1000)});
for my $fit (@fits)
{
	my %digests;
	for my $threads (1, 2, 8)
	{
		$session->query("SET btml.threads = $threads");
		$digests{ $session->query("SELECT md5($fit\::bytea)") } = 1;
	}
	is(scalar keys %digests, 1, "the same bytes whatever the threads: $fit");
	is($session->{stderr}, '', 'without an error');
}
ok(threads_are_gone($pid), 'no thread is left after a fit');

sub train
{
	my ($victim, $victim_pid) = @_;
	$victim->query('SET btml.threads = 8');
	send_statement($victim, q{SELECT btml.boost_fit('SELECT y, a, z FROM data JOIN side USING (k)', 'y', trees => 100000)});
	wait_for($node, "SELECT EXISTS (SELECT FROM btml.progress WHERE pid = $victim_pid AND phase = 'growing trees' AND done > 0)");
	return;
}

train($session, $pid);
is(task_count($pid), 8, 'eight threads during a fit');
my $signals = 0x7ffbfeff; # 1 to 31 without SIGKILL and SIGSTOP
my @deaf = grep { slurp_file("$_/status") =~ /^SigBlk:\s*\S*(\S{8})$/m && (hex($1) & $signals) == $signals } glob("/proc/$pid/task/*");
is(scalar @deaf, 7, 'workers block every signal');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
like(finish_statement($session), qr/canceling statement/, 'cancelled');
ok(threads_are_gone($pid), 'no thread is left after a cancelled fit');

$session->query('SET btml.memory_limit = 1024');
fails($session, q{SELECT btml.boost_fit('data', 'y')}, qr/memory required/, 'a fit beyond the memory limit');
ok(threads_are_gone($pid), 'no thread is left after a failed fit');
$session->query('RESET btml.memory_limit');

# The client vanishes while threads run: the backend notices and ends without a crash.
my ($lost, $lost_pid) = session($node);
$lost->query('SET client_connection_check_interval = 100');
train($lost, $lost_pid);
$lost->{run}->kill_kill;
ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $lost_pid) AND NOT EXISTS (SELECT FROM btml.progress)"),
	'a fit whose client vanished ends');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process crashed');

done_testing();
