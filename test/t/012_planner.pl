# Factorized aggregates beside other modules that hook the planner and the executor, for roles that may not load
# anything, under cancellation, and over parallel scans.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $limit_ms = 200;
my $node = new_cluster('planner');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE edge AS SELECT hashint4(i) % 1500 AS a, hashint4(-i) % 1500 AS b FROM generate_series(1, 300000) AS i;
CREATE TABLE few AS SELECT * FROM edge LIMIT 30000;
CREATE TABLE wide AS SELECT i AS k, i % 1000 AS x FROM generate_series(1, 400000) AS i;
ANALYZE;
CREATE ROLE plain LOGIN;
GRANT SELECT ON few TO plain;
SQL

my $query = 'SELECT count(*), sum(p.a) FROM few p JOIN few q ON p.b = q.a';
my $expected = $node->safe_psql('postgres', $query);

# Hooks chain, whoever comes first.
for my $libraries ('pg_stat_statements, auto_explain, btml', 'btml, auto_explain, pg_stat_statements')
{
	my $log_begin = -s $node->logfile;
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$libraries'
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
btml.factorize_aggregates = exact
CONF
	$node->restart;
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()');
	is($node->safe_psql('postgres', $query), $expected, "the same rows with $libraries");
	is($node->safe_psql('postgres', q{SELECT calls FROM pg_stat_statements WHERE query LIKE '%sum(p.a)%' AND query NOT LIKE '%pg_stat%'}),
		'1', "counted with $libraries");
	like(slurp_file($node->logfile, $log_begin), qr/Custom Scan \(btml Factorized Aggregate\).*Join Tree: .* <- /s, "explained with $libraries");
}

# Modules that plan joins in their own way, where the server has them.
my $installed = $node->safe_psql('postgres', q{SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'});

sub beside
{
	my ($module, $check) = @_;
	subtest "beside $module" => sub {
		plan skip_all => "the server has no $module" unless -e "$installed/$module.so";
		for my $libraries ("$module, btml", "btml, $module")
		{
			$node->append_conf('postgresql.conf', "shared_preload_libraries = '$libraries'");
			$node->restart;
			is($node->safe_psql('postgres', $query), $expected, "the same rows with $libraries");
			like($node->safe_psql('postgres', "EXPLAIN $query"), qr/btml Factorized Aggregate/, "factorized with $libraries");
			$check->($libraries);
		}
	};
	return;
}

beside(pg_hint_plan => sub {
	my ($libraries) = @_;
	my $hints = 'MergeJoin(p q) Leading((q p))';
	is($node->safe_psql('postgres', "/*+ $hints */ $query"), $expected, "the same rows of a query with hints with $libraries");
	my $off = $node->safe_psql('postgres', "/*+ Set(btml.factorize_aggregates off) $hints */ EXPLAIN $query");
	like($off, qr/Merge Join/, "a hint switches it off with $libraries");
	unlike($off, qr/btml/, "for that query with $libraries");
});

# A worker's queries over the shards of one server are planned with the setting as well. It listens at its socket only.
$node->append_conf('postgresql.conf', "citus.local_hostname = '" . $node->host . "'");
beside(citus => sub {
	my ($libraries) = @_;
	my $joined = 'SELECT p.b % 7, count(*), sum(p.a * q.b) FROM spread p JOIN copied q ON p.b = q.a GROUP BY 1 ORDER BY 1';
	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS citus;
DROP TABLE IF EXISTS spread, copied;
CREATE TABLE spread AS SELECT * FROM edge LIMIT 3000;
CREATE TABLE copied AS SELECT * FROM edge LIMIT 3000;
SQL
	my $local = $node->safe_psql('postgres', $joined);
	$node->safe_psql('postgres', q{SELECT create_reference_table('copied')});
	is($node->safe_psql('postgres', $joined), $local, "the same rows over a reference table with $libraries");
	$node->safe_psql('postgres', q{SELECT create_distributed_table('spread', 'b')});
	is($node->safe_psql('postgres', $joined), $local, "the same rows over a distributed table with $libraries");
});
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nbtml.factorize_aggregates = off");
$node->restart;

# A role for which a superuser has switched it on.
$node->safe_psql('postgres', q{ALTER ROLE plain SET session_preload_libraries = 'btml'; ALTER ROLE plain SET btml.factorize_aggregates = exact});
like($node->safe_psql('postgres', "EXPLAIN $query", extra_params => [ '-U', 'plain' ]), qr/btml Factorized Aggregate/, 'a plain role has it on');
is($node->safe_psql('postgres', $query, extra_params => [ '-U', 'plain' ]), $expected, 'and the same rows');
unlike($node->safe_psql('postgres', "EXPLAIN $query"), qr/btml/, 'others have not');

# Scans below it run in parallel.
my $setup = 'SELECT btml.version(); SET btml.factorize_aggregates = exact; SET btml.force_factorize_aggregates = on;';
my $parallel = "$setup SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;";
like($node->safe_psql('postgres', "$parallel EXPLAIN $query"), qr/Factorized.*Gather/s, 'parallel scans below the node');
like($node->safe_psql('postgres', "$parallel $query"), qr/^\Q$expected\E$/m, 'and the same rows');

# Cancelled soon wherever it happens to be: reading, joining a cycle, passing messages, in the ordinary plan.
my ($session) = session($node);
$session->query("$setup SET work_mem = '1GB'");
my %statements = (
	'a cycle' => 'SELECT count(*) FROM edge p JOIN edge q ON p.b = q.a JOIN edge r ON q.b = r.a AND r.b = p.a',
	'messages' => 'SELECT p.k, q.x, count(*) FROM wide p JOIN wide q USING (x) GROUP BY p.k, q.x',
	'many groups' => 'SELECT p.k, q.k, count(*) FROM wide p JOIN wide q USING (x) GROUP BY p.k, q.k');
for my $name (sort keys %statements)
{
	my @late;
	for my $timeout (30, 100, 300)
	{
		$session->query("\\timing on\nSET statement_timeout = $timeout");
		my $output = $session->query($statements{$name});
		my ($took) = $output =~ /Time: ([0-9.]+) ms/;
		push @late, $took - $timeout if $session->{stderr} =~ /statement timeout/;
		$session->{stderr} = '';
		$session->query("\\timing off\nRESET statement_timeout");
	}
	ok(@late > 0, "$name: cancelled");
	cmp_ok(median(@late), '<', $limit_ms, "$name: ends within $limit_ms ms (@late)");
}
like($session->query($query), qr/^\Q$expected\E$/m, 'the session goes on');
is($node->safe_psql('postgres', 'SELECT count(*) FROM btml.progress'), '0', 'nothing is left in btml.progress');
$session->quit;
unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process crashed');

done_testing();
