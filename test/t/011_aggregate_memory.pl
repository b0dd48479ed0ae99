# Transition states are in PostgreSQL's memory: many small groups spill to disk instead of growing beyond work_mem, and
# the results are those of a sort.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

my $work_mem_kb = 16 * 1024;
my $slack_kb = 24 * 1024; # the code of the server and of btml, caches and shared buffers
my $node = new_cluster('aggregate_memory', conf => "shared_buffers = 4MB\nhash_mem_multiplier = 1\njit = off\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE grouped AS SELECT i % 50000 AS g, i AS id, hashint4(i) / 1e9 AS a, hashint4(-i) / 1e9 AS b FROM generate_series(1, 500000) AS i;
ANALYZE grouped;
SQL

# The groups' states are made and combined; most groups are left out of the final function, which takes its time.
my %aggregates = (
	exemplars_agg => 'btml.exemplars_agg(id, ARRAY[a, b], 2)::text',
	boost_fit_agg => q{md5(btml.boost_fit_agg(a, ARRAY[b], '{"trees": 1}')::text)},
	kernel_sum_agg => q{btml.kernel_sum_agg(ARRAY[a, b], 1, '{0,0,1,1}', 1)::text},
	metrics => '(btml.r2(a, b), btml.auc(a > 0, b, abs(b)))::text',
	tensor_sketch_agg => 'btml.tensor_sketch_agg(id, ARRAY[(id % 7)::text], 16, 0)::text');
my @settings = (
	[ 'hash', "SET enable_sort = off; SET work_mem = '${work_mem_kb}kB'" ],
	[ 'sort', "SET enable_hashagg = off; SET work_mem = '1GB'" ]);

for my $aggregate (sort keys %aggregates)
{
	my %digests;
	for my $setting (@settings)
	{
		my ($plan, $set) = @$setting;
		my ($session, $pid) = session($node);
		$session->query("SET max_parallel_workers_per_gather = 0; $set");
		my $explained = $session->query("EXPLAIN SELECT g, $aggregates{$aggregate} AS r FROM grouped GROUP BY g");
		$plan eq 'hash' ? like($explained, qr/HashAggregate/, "$aggregate: hashed") : unlike($explained, qr/HashAggregate/, "$aggregate: sorted");
		$digests{$plan} = $session->query("SELECT count(*), sum(hashtextextended(r, g)) FROM (SELECT g, $aggregates{$aggregate} AS r FROM grouped GROUP BY g) AS groups");
		like($digests{$plan}, qr/^50000\|/, "$aggregate: all groups");
		my $peak = status_kb($pid, 'VmHWM');
		note("$aggregate, $plan: peak $peak kB");
		cmp_ok($peak, '<', 2 * $work_mem_kb + $slack_kb, "$aggregate: within twice work_mem") if $plan eq 'hash';
		$session->quit;
	}
	is($digests{hash}, $digests{sort}, "$aggregate: the same results");
}

# For each new group PostgreSQL walks the contexts below that of the groups, so those must not become more with them.
my %states = (
	auc => 'btml.auc(a > 0, b)',
	rmse => 'btml.rmse(a, b)',
	kernel_sum_agg => q{btml.kernel_sum_agg(ARRAY[a, b], 1, '{0,0,1,1}', 1)},
	exemplars_agg => 'btml.exemplars_agg(id, ARRAY[a, b], 2)',
	boost_fit_agg => q{btml.boost_fit_agg(a, ARRAY[b], '{"trees": 1}')},
	gp_fit_agg => q{btml.gp_fit_agg(a, ARRAY[b], '{"search": "none"}')},
	linear_fit_agg => q{btml.linear_fit_agg(a, ARRAY[b], '{"penalty": 1}')});
for my $aggregate (sort keys %states)
{
	# Asked when the first group is finished: all of the others are there.
	my $contexts = "(SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'btml aggregate%')";
	is($node->safe_psql('postgres', <<"SQL"), 1, "$aggregate: the groups share a memory context");
SET enable_sort = off; SET work_mem = '64MB'; SET max_parallel_workers_per_gather = 0;
SELECT $contexts FROM (SELECT $states{$aggregate} AS r FROM grouped WHERE g < 5000 GROUP BY g LIMIT 1) AS groups WHERE r IS NOT NULL;
SQL
}

done_testing();
