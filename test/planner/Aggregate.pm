# Random aggregates over the columns of a Query's join.
package Aggregate;
use strict;
use warnings;
use Draw;
use Schema;

my @whole   = qw(x2 x4 x8 k4 k8 id);
my @numeric = qw(n np kn km);
my @float   = qw(f4 f8);

sub new { my ($class, $query) = @_; return bless { query => $query }, $class; }

sub column
{
	my ($self, @names) = @_;
	@names = grep { !/^(f4|f8|kf|kg)$/ } @names if $self->{query}{exact};
	my $column = $self->{query}->column(@names) || $self->{query}{items}[0]{alias} . '.k4';
	$self->{query}{float} = 1 if $column =~ /\.(f4|f8|kf|kg)$/;

	# What is rounded to single precision row by row.
	$self->{query}{single} = 1 if $column =~ /\.(f4|kg)$/;
	return $column;
}

sub has { my ($self, @features) = @_; $self->{query}->has(@features); return; }

# An aggregate that gives a whole number, for HAVING and arithmetic.
sub whole
{
	my ($self) = @_;
	return pick(
		'count(*)',
		'count(' . $self->column(@Schema::MEASURES) . ')',
		'sum(' . $self->column('x2', 'x4') . ')',
		'max(' . $self->column(@whole) . ')',
		'min(' . $self->column(@whole) . ')');
}

sub over_aggregates
{
	my ($self) = @_;
	$self->has('arithmetic over aggregates');
	my ($one, $other) = ($self->whole, $self->whole);
	return pick(
		"$one / nullif($other, 0)",
		"$one + $other",
		"coalesce($one, 0) * 2",
		"CASE WHEN $one > 1 THEN $other END",
		"$one\::float8 / nullif($other, 0) + 1",
		"$one / $other",
		"greatest($one, $other)",
		"$one IS NULL",
		"round(avg(" . $self->column(@whole) . "), 2)");
}

sub draw
{
	my ($self) = @_;
	my $simple = $self->{query}{simple};
	my $subject = $self->{query}{subject};
	return $self->subtracted if $subject eq 'excluded' && chance(0.95);
	my $method = weighted(
		count_rows => 5,
		count_of   => 4,
		plain      => 14,
		product    => 10,
		spread     => 5,
		boolean    => 3,
		extremum   => $subject eq 'extremum' || $subject eq 'fall back' ? 60 : 6,
		arithmetic => $simple ? 5   : 2,
		expression => $subject =~ /^(outer|raising|expression)$/ ? 60 : $simple ? 1 : 8,
		modified   => $subject eq 'filter' ? 60 : $simple ? 3 : 5,
		other      => $simple ? 0.1 : 4);
	return $self->$method;
}

# What can be had of joins that are subtracted.
sub subtracted
{
	my ($self) = @_;
	$self->has('subtracted aggregate');
	my ($x, $y) = map { $self->column(qw(x2 x4 k4 id)) } 1, 2;
	my $filter = chance(0.2) ? " FILTER (WHERE $y > 0)" : '';
	return pick('count(*)', 'count(*)', "count($x)", "sum($x)", "avg($x)", "sum(${x}::int8 * $y)", "var_pop($x)", "count(DISTINCT $x)", "sum(DISTINCT $y)")
		. $filter;
}

sub count_rows { my ($self) = @_; $self->has('count(*)'); return 'count(*)'; }

sub count_of
{
	my ($self) = @_;
	if (chance(0.6))
	{
		my $column = $self->column(@Schema::MEASURES, @Schema::KEYS);
		$self->has('count(column)');
		return "count($column)";
	}
	$self->has('count(expression)');
	return 'count('
		. pick($self->factors(2), $self->column('x4') . ' > 1',
		'1', 'NULL::int', 'nullif(' . $self->column('x4') . ', 0)')
		. ')';
}

sub type_of { my ($column) = @_; $column =~ /\.(\w+)$/; return $Schema::TYPE{$1}; }

sub plain
{
	my ($self) = @_;
	my $names = weighted(
		\@whole        => 6,
		\@numeric      => 4,
		\@float        => $self->{query}{exact}  ? 0    : 3,
		[ 'mo', 'iv' ] => $self->{query}{simple} ? 0.05 : 0.5);
	my $column = $self->column(@$names);
	my $type   = type_of($column);
	my $name   = pick('sum', 'sum', 'avg');
	$name = 'sum' if $type eq 'money';
	$self->has("$name($type)");
	return "$name($column)";
}

# A product of columns of several tables, or twice of the same one, with casts, constants and brackets.
sub factors
{
	my ($self, $count) = @_;
	my $kind = weighted(whole => 5, int4 => 3, numeric => 4, float => $self->{query}{exact} ? 0 : 4, mixed => 2);
	my @pool = {
		whole   => \@whole,
		int4    => [qw(x4 k4)],
		numeric => \@numeric,
		float   => \@float,
		mixed   => [ @whole, @numeric ]
	}->{$kind}->@*;
	my @factors = map { $self->column(@pool) } 1 .. $count;
	my %tables  = map { substr($_, 0, 1) => 1 } @factors;
	$self->has("product of $count, $kind", 'product over ' . keys(%tables) . ' tables');
	if (chance(0.3))
	{
		# Sums of large floats that cancel have other last digits in another order.
		my $wide  = grep { $self->{query}{schema}{wide}{ s/.*\.//r } } @factors;
		my @casts = ('int8', 'numeric', $self->{query}{exact} || $wide ? () : 'float8');
		my $cast  = {
			whole   => pick(@casts),
			int4    => pick(@casts),
			numeric => 'numeric',
			float   => 'float8',
			mixed   => 'numeric'
		}->{$kind};
		my $all = $cast eq 'numeric' || $cast eq 'float8';
		$self->{query}{float} = 1 if $cast eq 'float8';
		$_ = "$_\::$cast" for $all || chance(0.5) ? @factors : $factors[0];
		$self->has("product with a cast to $cast");
	}
	if ($count < 4 && chance(0.15))
	{
		push @factors, $kind eq 'float' ? pick('0.5', '2', '-1') : pick('2', '3', '-1', '0');
		$self->has('product with a constant');
	}
	@factors = sample(scalar @factors, @factors);
	while (@factors > 1 && chance(0.5))
	{
		my $at = int(rand(@factors - 1));
		splice @factors, $at, 2, "($factors[$at] * $factors[$at + 1])";
	}
	return join ' * ', @factors;
}

sub product
{
	my ($self)  = @_;
	my $name    = pick('sum', 'sum', 'sum', 'avg');
	my $product = $self->factors(weighted(2 => 6, 3 => 3, 4 => 1));
	$self->has("$name(product)");
	return "$name($product)";
}

sub spread
{
	my ($self)   = @_;
	my $name     = pick(qw(stddev stddev_pop stddev_samp variance var_pop var_samp));
	my $argument = chance(0.85) ? $self->column(pick(\@whole, \@whole, \@numeric, \@float)->@*) : $self->factors(2);
	my $type     = $argument =~ /^\w\.\w+$/ ? type_of($argument)                                : 'product';
	$self->has("variance family of $type");
	$self->{query}{spread} = 1;
	return "$name($argument)";
}

sub boolean
{
	my ($self) = @_;
	my $name = pick(qw(bool_and bool_or every));
	$self->has($name);
	my $column = $self->column('x4');
	return "$name("
		. pick($self->column('b', 'kb') =~ /\.(b|kb)$/ ? $self->column_of_bool : "$column > 0",
		"$column > 0", "$column IS NULL")
		. ')';
}

sub column_of_bool { my ($self) = @_; return $self->{query}->column('b', 'kb') || 'true'; }

# Of products that are 0 or more, mostly.
sub max_product
{
	my ($self) = @_;
	my @factors = map { $self->column(qw(n np kn x4)) . '::numeric' } 1 .. between(2, 3);
	$self->{query}{scale} = 1;
	$self->has('max(product)');
	my $filtered = chance(0.8) && $self->{query}{subject} ne 'fall back';
	my $filter = $filtered ? ' FILTER (WHERE ' . join(' AND ', map { "$_ >= 0" } @factors) . ')' : '';
	return 'max(' . join(' * ', @factors) . ")$filter";
}

sub extremum
{
	my ($self) = @_;
	my $subject = $self->{query}{subject};
	return $self->max_product if chance($subject eq 'fall back' ? 0.9 : 0.2);
	my $name  = pick('min', 'max');
	my @names = (
		qw(x2 x4 x8 id k2 k4 k8 n np f4 f8 d ts tz tm kd kts ktz kn km ko kf kg),
		$self->{query}{simple} ? () : qw(iv s mo kt kv kc ke ki kiv ka));
	@names = qw(n kn) if chance($subject eq 'extremum' ? 0.9 : 0.2);
	my $column = $self->column(@names);
	my $type = type_of($column);
	$self->{query}{zero} = 1 if $type =~ /float/;

	# Which of several equal values is met first depends on the order of rows.
	$self->{query}{scale} = 1 if $type =~ /numeric|interval|char\(3\)|inet/;
	$self->has("$name($type)");
	return "$name($column)";
}

# An expression of one column or of several.
sub expression
{
	my ($self)  = @_;
	my $x       = $self->column('x4', 'k4');
	my $y       = $self->column('x4', 'k4', 'x2');
	my ($alias) = $x =~ /^(\w)/;
	my $name    = pick('sum', 'sum', 'avg', 'min', 'max', 'count');
	my @raising =
		([ 'function that may raise', pick("sqrt($x)", "100 / $x", "($x * 100000)", "ln(abs($x))") ]);
	if ($self->{query}{subject} eq 'expression' && chance(0.6))
	{
		my $function = $self->{query}->function_of_column || '1';
		if (chance(0.3))
		{
			# Values of one expression are counted, with conditions or without.
			$self->has('values are counted');
			delete $self->{counted} if chance(0.2);
			$self->{counted} //= chance(0.5) ? $function : $self->column(qw(x4 k4 kt kd kv s n kn d ts b kiv kj));
			return pick('sum', 'avg') . '(DISTINCT ' . $self->column(qw(x2 x4 x8 k4 k8)) . ')' if chance(0.2);
			my $filter = chance(0.3) ? ' FILTER (WHERE ' . $self->column('k4') . ' > 0)' : '';
			return pick('count', 'count', 'min') . "(DISTINCT $self->{counted})$filter" if $self->{counted} !~ /[.](kj|b)$/;
			return "count(DISTINCT $self->{counted})$filter";
		}
		return pick("count($function)", "count(*) FILTER (WHERE $function IS NOT NULL)", "min($function)", "max($function)");
	}
	my ($what, $argument) = pick($self->{query}{subject} eq 'raising' && chance(0.5) ? @raising : (
		[ 'case',                    "CASE WHEN $x > 1 THEN $x ELSE 0 END" ],
		[ 'case of two tables',      "CASE WHEN $x > 1 THEN $y END" ],
		[ 'case',                    "CASE WHEN $x IS NULL THEN 1 ELSE 0 END" ],
		[ 'coalesce',                "coalesce($x, 0)" ],
		[ 'constant',                pick('1', '2.50', 'NULL::int', '1::numeric', '0') ],
		[ 'cast',                    $x . '::' . pick('numeric', 'float8', 'int8', 'numeric(8,2)', 'int2') ],
		[ 'comparison',              "($x > 0)::int" ],
		[ 'sum of two',              "$x + $y" ],
		[ 'difference',              "$x - $y" ],
		[ 'sum and product',         "$x * ($y + 1)" ],
		[ 'division',                "$x / $y" ],
		[ 'division by a constant',  "$x / 2" ],
		[ 'negation',                "-$x" ],
		[ 'absolute value',          "abs($x)" ],
		@raising,
		[ 'modulo',                  "$x % 3" ],
		[ 'condition times value',   "CASE WHEN $x > 0 THEN 1 ELSE 0 END * $y" ],
		[ 'nullif',                  "nullif($x, 0) * $y" ],
		[ 'length',                  "length($alias.k4::text)" ],
		[ 'square',                  "$x * $x" ],
		[ 'greatest',                "greatest($x, $y)" ]
	))->@*;
	$self->has("argument: $what");
	$self->{query}{float}  = 1 if $argument =~ /float8|sqrt|ln\(/;
	$self->{query}{spread} = 1 if $argument =~ /ln\(|sqrt/;
	return "$name($argument)";
}

# Arithmetic over columns of one table or of several, and what else gives a number.
sub arithmetic
{
	my ($self) = @_;
	my @items  = chance(0.5) ? pick(@{ $self->{query}{items} }) : @{ $self->{query}{items} };
	my $kind   = weighted(whole => 5, numeric => 3, float => $self->{query}{exact} ? 0 : 2);
	my %pool   = (whole => [qw(x2 x4 x8 k4)], numeric => [qw(n np x4)], float => [qw(f8 x4)]);
	my $wide   = $self->{query}{schema}{wide};
	my %wanted = map { $_ => 1 } grep { $kind ne 'float' || !$wide->{$_} } @{ $pool{$kind} };
	my @leaves = map {
		my $item = $_;
		map { "$item->{alias}.$_" } grep { $wanted{$_} } @{ $item->{columns} }
	} @items;
	@leaves               = ("$items[0]{alias}.k4") unless @leaves;
	@leaves               = map { "$_\::float8" } @leaves if $kind eq 'float';
	$self->{query}{float} = 1                             if $kind eq 'float';
	$self->has("arithmetic, $kind" . (@items > 1 ? ', several tables' : ''));
	my $name = pick('sum', 'sum', 'avg', 'min', 'max', 'count', 'var_pop');
	$self->{query}{scale} = 1 if $kind eq 'numeric' && $name =~ /^m/;
	return "$name(" . number_from(between(1, 3), $kind, @leaves) . ')';
}

sub number_from
{
	my ($depth, $kind, @leaves) = @_;
	my $constant =
		{ whole => pick(0, 1, 2, -3, 100000), numeric => pick('0.5', '2', '0.00'), float => pick('0.5', '2', '0') }
		->{$kind};
	return chance(0.15) ? $constant : pick(@leaves) if !$depth || chance(0.1);
	my ($x, $y) = map { number_from($depth - 1, $kind, @leaves) } 1, 2;
	my $way = weighted(
		plus     => 5,
		minus    => 4,
		times    => 5,
		divided  => $kind eq 'numeric' ? 0.2 : 1,
		negated  => 1,
		case     => 2,
		coalesce => 1,
		nullif   => 0.5,
		null     => 0.5,
		raising  => $kind eq 'whole' ? 0.7 : 0);
	return {
		plus     => "($x + $y)",
		minus    => "($x - $y)",
		times    => "($x * $y)",
		divided  => "($x / $y)",
		negated  => "(- $x)",
		case     => "CASE WHEN $x > 0 THEN $y ELSE 0 END",
		coalesce => "coalesce($x, $constant)",
		nullif   => "nullif($x, $constant)",
		null     => "CASE WHEN $x IS NULL THEN 1 ELSE 0 END",
		raising  => pick("($x)::int2", "sqrt($x)::int4", "($x % $y)", "abs($x)")
	}->{$way};
}

# What stands beside an aggregate's arguments.
sub modified
{
	my ($self) = @_;
	my $x      = $self->column('x4', 'k4', 'x8');
	my $filtered = $self->{query}{subject} eq 'filter';
	my $kind     = weighted(
		filter                 => $filtered ? 40 : 4,
		'filter of two tables' => 1,
		distinct               => 3,
		'order by'             => 1,
		'filter count'         => $filtered ? 20 : 2);
	$self->has("aggregate with $kind");
	my ($table) = $x =~ /^(\w)/;
	my $name      = pick('sum', 'count', 'min', 'avg');
	my $condition = pick("$table.k4 > 0", "$x <> 1", "$x < 3", "NOT ($x = 0)", "$x IS NULL OR $x > 0");
	return {
		filter                 => "$name(" . pick($x, $x, '1', "$table.k8") . ") FILTER (WHERE $condition)",
		'filter of two tables' => "$name($x) FILTER (WHERE " . $self->column('k4') . ' > 0)',
		distinct               => "$name(DISTINCT $x)",
		'order by'             => "array_agg($x ORDER BY $x)",
		'filter count'         => 'count(*) FILTER (WHERE ' . pick("$table.k4 IS NOT NULL", $condition) . ')'
	}->{$kind};
}

# Aggregates that are to be left alone, or that a later version may take.
sub other
{
	my ($self) = @_;
	my $x      = $self->column('x4', 'k4');
	my $y      = $self->column('x4', 'k4');
	my $kind   = weighted(
		string     => 1,
		array      => 1,
		bits       => 2,
		pair       => 2,
		percentile => 1,
		mode       => 1,
		json       => 0.5,
		grouping   => 0.3);
	$self->has("other aggregate: $kind");
	if ($kind eq 'pair') { $self->{query}{float} = 1; $self->{query}{spread} = 1; }
	return {
		string     => "string_agg($x\::text, ',' ORDER BY $x)",
		array      => "array_agg($x ORDER BY $x)",
		bits       => pick('bit_and', 'bit_or',    'bit_xor') . "($x)",
		pair       => pick('corr',    'covar_pop', 'regr_slope', 'regr_count') . "($x, $y)",
		percentile => "percentile_disc(0.5) WITHIN GROUP (ORDER BY $x)",
		mode       => "mode() WITHIN GROUP (ORDER BY $x)",
		json       => "jsonb_agg($x ORDER BY $x)",
		grouping   => 'count(*)'
	}->{$kind};
}

1;
