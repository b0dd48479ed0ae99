# The machine's memory ends before btml.memory_limit does: an address space that is limited to a little more than the
# backend uses makes calls fail at ever later points, always with an ordinary error.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs prlimit' if system('prlimit --version >/dev/null 2>&1') != 0;

my $node = new_cluster('out_of_memory');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE data AS SELECT i % 3 AS k, i % 100 / 7.0 AS y, sin(i) AS a, cos(i) AS b, md5((i % 5000)::text) AS c FROM generate_series(1, 50000) AS i;
CREATE TABLE side AS SELECT i % 3 AS k, sqrt(i) AS z FROM generate_series(1, 30) AS i;
SQL
my @statements = (
	q{SELECT length(btml.boost_fit('data', 'y', trees => 2)::bytea) > 0},
	q{SELECT length(btml.boost_fit('SELECT y, a, z FROM data JOIN side USING (k)', 'y', trees => 2)::bytea) > 0},
	q{SELECT length(btml.boost_fit('SELECT y, a, z FROM data JOIN side USING (k)', 'y', trees => 3, strategy => 'factorize')::bytea) > 0},
	q{SELECT btml.sumprod('SELECT a, z FROM data JOIN side USING (k)') IS NOT NULL},
	q{SELECT btml.sketch_norm('SELECT a FROM data JOIN side USING (k)', 'a', 20011) IS NOT NULL},
	q{SELECT btml.sketch_norm('SELECT a FROM data JOIN side USING (k)', 'a', 600000) IS NOT NULL},
	q{SELECT length(btml.boost_fit('SELECT y, z FROM data JOIN side USING (k)', 'y', trees => 2, strategy => 'factorize', criterion => 'mse_sum', max_leaves => 3, residuals => 'sketch', sketch_size => 1000)::bytea) > 0},
	q{SELECT length(btml.boost_fit_agg(y, ARRAY[a, b], '{"trees": 2}')::bytea) > 0 FROM data},
	q{SELECT btml.auc(y > 7, a) + btml.rmse(y, b, abs(a)) > 0 FROM data, generate_series(1, 4) s});

my (%outcomes, @wrong);
for my $room_mb (0 .. 12, 14, 16, 20, 25, 30, 40, 60, 80)
{
	for my $statement (@statements)
	{
		# A new session: what an earlier call gave back to malloc would be room.
		my ($session, $pid) = session($node);
		$session->query("SET client_min_messages = warning; SET btml.threads = 4; SET btml.memory_limit = '100GB'; SELECT btml.version()");
		my $bytes = 1024 * (status_kb($pid, 'VmSize') + 1024 * $room_mb);
		system("prlimit --pid $pid --as=$bytes:") == 0 or die 'prlimit failed';
		my $result = $session->query($statement);
		my $stderr = $session->{stderr};
		my $outcome = $stderr =~ /ERROR:  out of memory/ ? 'out of memory' : $stderr eq '' && $result eq 't' ? 'success' : 'unexpected';
		$outcomes{$outcome}++;
		push @wrong, "$room_mb MB, $statement: $stderr" if $outcome eq 'unexpected';
		push @wrong, "$room_mb MB, $statement: left threads" unless threads_are_gone($pid);
		system("prlimit --pid $pid --as=unlimited:") == 0 or die 'prlimit failed';
		push @wrong, "$room_mb MB, $statement: failed afterwards" if $session->query($statement) ne 't';
		$session->quit;
	}
}
note(join(', ', map { "$_: $outcomes{$_}" } sort keys %outcomes));
is_deeply(\@wrong, [], 'success or 53200, and the session goes on');
cmp_ok($outcomes{'out of memory'}, '>', 5, 'memory ran out');
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process crashed');

done_testing();
