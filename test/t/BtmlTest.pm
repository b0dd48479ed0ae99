# What the TAP tests share: a cluster with the extension, sessions, and a look at a backend from outside.
package BtmlTest;
use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(new_cluster session send_statement finish_statement fails wait_for wait_for_restart status_kb task_count threads_are_gone median);

# A running cluster with the extension in the database postgres.
sub new_cluster
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	# The same encoding and locale wherever the tests run.
	$node->init(extra => [ '--encoding=UTF8', '--no-locale' ], %{ $params{init} || {} });
	$node->append_conf('postgresql.conf', "fsync = off\nshared_buffers = 64MB\nmax_wal_size = 1GB\n" . ($params{conf} || ''));
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION btml');
	return $node;
}

# A psql that stays (user => its role), and the process id of its backend.
sub session
{
	my ($node, %params) = @_;
	my $user = $params{user} ? [ '-U', $params{user} ] : undef;
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => $user);
	$session->set_query_timer_restart(1);
	return ($session, scalar $session->query('SELECT pg_backend_pid()'));
}

# Starts a statement without waiting for its end; finish_statement waits and returns what psql wrote to stderr.
sub send_statement
{
	my ($session, $statement) = @_;
	$session->query_until(qr/sent/, "\\echo sent\n$statement;\n");
	return;
}

sub finish_statement
{
	my ($session) = @_;
	$session->query('SELECT 1');
	my $stderr = $session->{stderr};
	$session->{stderr} = '';
	return $stderr;
}

# The statement ends with an error whose text matches.
sub fails
{
	my ($session, $statement, $error, $name) = @_;
	$session->{stderr} = '';
	$session->query($statement);
	like($session->{stderr}, $error, $name);
	$session->{stderr} = '';
	return;
}

# Waits until the query gives true.
sub wait_for
{
	my ($node, $query) = @_;
	$node->poll_query_until('postgres', $query) or die "waited in vain for: $query";
	return;
}

# Waits until the server has noticed the crash of a process and takes connections again.
sub wait_for_restart
{
	my ($node) = @_;
	$node->wait_for_log(qr/all server processes terminated; reinitializing/);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0;
		select(undef, undef, undef, 0.1);
	}
	die 'the server takes no connections';
}

# A number of kB in /proc/PID/status, as VmRSS and VmHWM.
sub status_kb
{
	my ($pid, $field) = @_;
	my ($kb) = slurp_file("/proc/$pid/status") =~ /^$field:\s+(\d+) kB/m;
	return $kb;
}

# The threads of a process.
sub task_count
{
	my ($pid) = @_;
	my @tasks = glob("/proc/$pid/task/*");
	return scalar @tasks;
}

# A joined thread may be seen in /proc for a moment.
sub threads_are_gone
{
	my ($pid) = @_;
	for (1 .. 100)
	{
		return 1 if task_count($pid) == 1;
		select undef, undef, undef, 0.01;
	}
	return 0;
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ $#sorted / 2 ];
}

1;
