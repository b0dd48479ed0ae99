# Random draws. All of them come from Perl's own generator, which gives the same numbers on every machine after srand.
package Draw;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(chance between pick weighted sample);

sub chance { return rand() < $_[0]; }

sub between
{
	my ($low, $high) = @_;
	return $low + int(rand($high - $low + 1));
}

sub pick { return $_[ int(rand(@_)) ]; }

# weighted(value => weight, ...): the order counts, so that a seed gives the same draw whatever a hash's order is.
sub weighted
{
	my @pairs = @_;
	my $sum   = 0;
	for (my $i = 1; $i < @pairs; $i += 2) { $sum += $pairs[$i]; }
	my $at = rand($sum);
	for (my $i = 0; $i < @pairs; $i += 2)
	{
		$at -= $pairs[ $i + 1 ];
		return $pairs[$i] if $at < 0;
	}
	return $pairs[-2];
}

# sample(count, list): that many different members, in random order.
sub sample
{
	my ($count, @list) = @_;
	my @drawn;
	push @drawn, splice(@list, int(rand(@list)), 1) while @list && @drawn < $count;
	return @drawn;
}

1;
