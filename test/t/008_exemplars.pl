# Exemplars: memory does not grow with the source and keeps to its limit; any source that can be scanned will do.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use BtmlTest;
use Test::More;

# Few buffers: a backend's peak counts those that its scans have touched.
my $node = new_cluster('exemplars', conf => "shared_buffers = 4MB\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large AS SELECT n AS id, sin(n) AS a, cos(n * 0.7) AS b, sin(n * 0.3) AS c, n % 100 / 50.0 AS d FROM generate_series(1, 500000) n;
CREATE TABLE small AS SELECT * FROM large WHERE id <= 50000;
SQL

# The peak memory in kB of a backend that has done nothing else, and what it wrote to stderr.
sub peak_of
{
	my ($query, $limit) = @_;
	my ($session, $pid) = session($node);
	$session->query("SET btml.memory_limit = '$limit'");
	$session->query($query);
	my @result = (status_kb($pid, 'VmHWM'), $session->{stderr});
	$session->{stderr} = '';
	$session->quit;
	return @result;
}

my %calls = (
	'clustering' => q{SELECT count(*) FROM btml.exemplars('TABLE', 20, validation => 2000)},
	'an active set' => q{SELECT count(*) FROM btml.exemplars('TABLE', 20, 'variance', validation => 500, max_candidates => 5000, length_scales => '{1,1,1,1}', signal => 1, noise => 0.1)},
	'the aggregate' => q{SELECT jsonb_array_length(btml.exemplars_agg(id, ARRAY[a, b, c, d]::float8[], 20)) FROM TABLE});
for my $name (sort keys %calls)
{
	my %peak;
	for my $table ('small', 'large')
	{
		(my $query = $calls{$name}) =~ s/TABLE/$table/;
		($peak{$table}, my $errors) = peak_of($query, '64MB');
		is($errors, '', "$name: of the $table table");
	}
	note("$name: $peak{small} kB of 50,000 rows, $peak{large} kB of 500,000");
	cmp_ok($peak{large} - $peak{small}, '<', 8192, "$name: memory does not grow with the rows");
}

# The limit refuses a sample that does not fit before it is taken, and bounds what is held.
# What a backend holds anyway (code, catalogue, shared buffers it has touched) differs by machine: a scan tells.
my $slack_kb = 32 * 1024;
my ($scan_peak) = peak_of(q{SELECT count(*), sum(a + b + c + d) FROM large}, '64MB');
my ($peak, $errors) = peak_of(q{SELECT count(*) FROM btml.exemplars('large', 200, validation => 500000)}, '64MB');
like($errors, qr/ERROR:  memory required is \d+ kB, btml.memory_limit is 65536 kB\n.*the choice of exemplars/s, 'a sample beyond the limit');
cmp_ok($peak - $scan_peak, '<', $slack_kb, 'is not taken');
($peak, $errors) = peak_of(q{SELECT count(*) FROM btml.exemplars('large', 200, validation => 20000, max_candidates => 2000)}, '64MB');
is($errors, '', 'a sample within the limit');
cmp_ok($peak, '<', 64 * 1024 + $slack_kb, 'keeps to it');

SKIP:
{
	skip 'needs file_fdw', 3
	  unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'file_fdw'");
	my $file = $node->basedir . '/rows.csv';
	$node->safe_psql('postgres', <<"SQL");
COPY (SELECT id, a, b, c, d FROM small WHERE id <= 20000) TO '$file' CSV;
CREATE EXTENSION file_fdw;
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE outside (id int, a float8, b float8, c float8, d float8) SERVER files OPTIONS (filename '$file', format 'csv');
CREATE VIEW through AS SELECT id, a, b, c, d FROM outside;
SQL
	my $chosen = sub {
		my ($source) = @_;
		return $node->safe_psql('postgres', "SELECT md5(string_agg(e::text, ';' ORDER BY slot)) FROM btml.exemplars('$source', 9, passes => 2) e");
	};
	my $expected = $chosen->('SELECT * FROM small WHERE id <= 20000');
	like($expected, qr/^[0-9a-f]{32}$/, 'exemplars of a table');
	is($chosen->('outside'), $expected, 'the same of a foreign table');
	is($chosen->('through'), $expected, 'and of a view of it');
}

done_testing();
