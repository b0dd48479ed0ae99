# What a statement printed, with and without the setting: whether it is the same.
package Compare;
use strict;
use warnings;
use Exporter 'import';

our @EXPORT = qw(cleaned error_of difference lacking);

# psql's lines without what may differ between two runs of one plan.
sub cleaned
{
	my ($text) = @_;
	my @lines;
	return \@lines if $text eq '';

	# A last line may be empty, and is a row then.
	for (split /\n/, $text =~ s/\n\z//r, -1)
	{
		s/^psql:[^ ]*:\d+: //;
		next if /^LOCATION: / || /^CONTEXT:  parallel worker/;
		push @lines, $_;
	}
	return \@lines;
}

# The SQLSTATE of the first error, or nothing.
sub error_of
{
	my ($lines) = @_;
	for (@$lines) { return $1 if /^(?:ERROR|FATAL|PANIC):  (\w{5}): /; }
	return '';
}

my $number = qr/[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|Infinity|NaN)/;

# Whether two texts are the same but for numbers, which may differ by a relative tolerance.
sub close_texts
{
	my ($one, $other, $how) = @_;
	return 1 if $one eq $other;
	my @one   = split /($number)/, $one;
	my @other = split /($number)/, $other;
	return 0 if @one != @other;
	for my $i (0 .. $#one)
	{
		next if $one[$i] eq $other[$i];
		return 0 unless $i % 2;
		return 0 if "$one[$i]$other[$i]" =~ /[IN]/;
		my ($x, $y) = ($one[$i] + 0, $other[$i] + 0);

		# Zeros of either sign are equal only where the order of rows decides which of them is shown.
		if ($x == 0 && $y == 0) { return 0 unless $how->{zero}; next; }
		my $size = abs($x) > abs($y) ? abs($x) : abs($y);
		return 0 if abs($x - $y) > $how->{relative} * $size + $how->{absolute};
	}
	return 1;
}

# Each line of one has a partner of its own in the other.
sub close_lines
{
	my ($one, $other, $how) = @_;
	my @left = @$other;
LINE: for my $line (@$one)
	{
		for my $i (0 .. $#left)
		{
			next unless close_texts($line, $left[$i], $how);
			splice @left, $i, 1;
			next LINE;
		}
		return 0;
	}
	return 1;
}

# The lines of one that the other does not have, each as often as it lacks.
sub lacking
{
	my ($one, $other) = @_;
	my %there;
	$there{$_}++ for @$other;
	return grep { !$there{$_} || !$there{$_}-- } @$one;
}

# Values that ORDER BY takes for equal, written alike: numbers without the zeros at their end, texts without case,
# intervals by their length.
sub as_ordered
{
	my $line = lc join "\n", @{ $_[0] };
	$line =~ s/(\.\d*?)0+(?!\d)/$1/g;
	$line =~ s/\.(?!\d)//g;
	$line =~ s/-0(?![\d.])/0/g;
	$line =~ s/24:00:00/1 day/g;
	$line =~ s/30 days/1 mon/g;
	return $line;
}

# Rows in any order, as ORDER BY takes them.
sub alike { return join "\n", sort map { as_ordered([$_]) } @_; }

# Says what differs, or nothing. {relative} is 0 where the bytes have to be the same; {ordered} says that lines keep
# their order, {any} that only their number is compared, {limited} that of rows which ORDER BY or DISTINCT takes for equal
# any may be shown.
sub difference
{
	my ($base, $other, $how) = @_;
	return ''                    if "@$base" eq "@$other";
	return 'the number of lines' if @$base != @$other;
	return ''                    if $how->{any};
	my @one = sort @$base;
	my @two = sort @$other;
	return $how->{ordered} && as_ordered($base) ne as_ordered($other) ? 'the order of rows' : '' if "@one" eq "@two";
	return ''                                         if $how->{limited} && alike(@one) eq alike(@two);
	return ''                                         if $how->{relative} && close_lines($base, $other, $how);
	return 'the rows';
}

1;
