# What the random tests say to a server: the settings of each mode, and that they wait for it after a crash.
package Server;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(settings await_server);

# A setting is off, exact, on, cost, or name=value pairs with spaces between.
sub settings
{
	my ($word) = @_;
	my %known = (
		off   => 'btml.factorize_aggregates=off btml.force_factorize_aggregates=off',
		exact => 'btml.factorize_aggregates=exact btml.force_factorize_aggregates=on',
		on    => 'btml.factorize_aggregates=on btml.force_factorize_aggregates=on',
		cost  => 'btml.factorize_aggregates=on btml.force_factorize_aggregates=off');
	my $pairs = $known{$word} || $word;
	return join '', map { /^([\w.]+)=(.+)$/ ? "SET $1 = '$2';\n" : die "--settings: $word is no setting\n" } split / /,
		$pairs;
}

# Waits until the server lets a session into the database again.
sub await_server
{
	my ($database) = @_;
	for (1 .. 60)
	{
		sleep 1;
		return if system("psql -Xq -d '$database' -c 'SELECT 1' >/dev/null 2>&1") == 0;
	}
	die "# the server does not recover\n";
}

1;
