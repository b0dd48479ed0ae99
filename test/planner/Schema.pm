# A random schema for the planner's fuzz: some tables of every kind that share their columns' names, with few different
# keys, many NULLs and, in some columns, values at the edges of their types.
package Schema;
use strict;
use warnings;
use Draw;

# Columns that join tables, by type, and what they hold for key number i.
our @KEYS     = qw(k2 k4 k8 kn km kt kv kc kd kts ktz kb ku ke ko kf kg kj ka ki kiv kq ky kw);
our %MANY     = map { $_ => 1 } qw(id k2 k4 k8 kn ko);          # as many keys as a large table has rows
our @MEASURES = qw(x2 x4 x8 n np f4 f8 d ts tz tm iv b s mo);
our %TYPE     = (
	id  => 'int4',
	k2  => 'int2',
	k4  => 'int4',
	k8  => 'int8',
	kn  => 'numeric',
	km  => 'numeric(6,2)',
	kt  => 'text',
	kv  => 'varchar(8)',
	kc  => 'char(3)',
	kd  => 'date',
	kts => 'timestamp',
	ktz => 'timestamptz',
	kb  => 'bool',
	ku  => 'uuid',
	ke  => 'mood',
	ko  => 'oid',
	kf  => 'float8',
	kg  => 'float4',
	kj  => 'jsonb',
	ka  => 'int4[]',
	ki  => 'inet',
	kiv => 'interval',
	kq  => 'timetz',
	ky  => 'bytea',
	kw  => '"char"',
	kx  => 'text COLLATE folded',
	x2  => 'int2',
	x4  => 'int4',
	x8  => 'int8',
	n   => 'numeric',
	np  => 'numeric(14,3)',
	f4  => 'float4',
	f8  => 'float8',
	d   => 'date',
	ts  => 'timestamp',
	tz  => 'timestamptz',
	tm  => 'time',
	iv  => 'interval',
	b   => 'bool',
	s   => 'text',
	mo  => 'money');

my @moods                = qw(sad ok fine glad high wild);
my @numbers_of_40_digits = (
	'1234567890123456789012345678901234567890',   '-9999999999999999999999999999999999999999',
	'0.0000000000000000000000000000000000000001', '1234567890123456789.0123456789012345678901');

my %key_value = (
	id  => sub { $_[0] },
	k2  => sub { $_[0] },
	k4  => sub { $_[0] },
	k8  => sub { $_[0] },
	ko  => sub { $_[0] },
	kn  => sub { $_[0] . pick('', '', '.0', '.00', '.000') },
	km  => sub { $_[0] . pick('', '.5') },
	kt  => sub { $_[0] ? "k$_[0]" : '' },
	kv  => sub { $_[0] ? "k$_[0]" : '' },
	kc  => sub { $_[0] ? "k$_[0]" : '' },
	kx  => sub { pick('k', 'K') . $_[0] },
	kd  => sub { sprintf '2020-01-%02d',             1 + $_[0] },
	kts => sub { sprintf '2020-01-%02d 00:00:00',    1 + $_[0] },
	ktz => sub { sprintf '2020-01-%02d 00:00:00+00', 1 + $_[0] },
	kb  => sub { $_[0] % 2 ? 't' : 'f' },
	ku  => sub { sprintf '00000000-0000-0000-0000-%012d', $_[0] },
	ke  => sub { $moods[ $_[0] % @moods ] },
	kf  => sub { $_[0] ? $_[0] / 2 : pick('0', '-0') },
	kg  => sub { $_[0] ? $_[0] / 2 : pick('0', '-0') },
	kj  => sub { $_[0] . pick('', '', '.0') },
	ka  => sub { $_[0] ? "{$_[0],NULL}" : '{}' },
	ki  => sub { "10.0.0.$_[0]" . pick('', '/32') },
	kiv => sub { $_[0] ? pick("$_[0] day", $_[0] * 24 . ' hours') : '0' },
	kq  => sub { sprintf '0%d:00:00+00', $_[0] },
	ky  => sub { "\\\\x0$_[0]" },
	kw  => sub { chr(ord('a') + $_[0]) });

my %key_extremes = (
	k2  => [ 32767,                 -32768 ],
	k4  => [ 2147483647,            -2147483648 ],
	k8  => [ '9223372036854775807', '-9223372036854775808' ],
	kn  => [ 'NaN',                 'Infinity', '-Infinity', @numbers_of_40_digits ],
	kt  => [ 'é',                   ' ', 'k1 ' ],
	kd  => [ 'infinity',            '-infinity' ],
	kts => [ 'infinity',            '-infinity' ],
	ko  => [4294967295],
	kf  => [ 'NaN', 'Infinity', '-Infinity' ],
	kg  => [ 'NaN', 'Infinity' ]);

my %measure_value = (
	x2 => sub { between(-5,    5) },
	x4 => sub { between(-5,    5) },
	x8 => sub { between(-5,    5) },
	n  => sub { sprintf chance(0.3) ? '%.3f' : '%.2f', between(-20, 20) / 4 },
	np => sub { between(-5000, 5000) / 1000 },
	f4 => sub { between(-20,   20) / 4 },
	f8 => sub { between(-20,   20) / 4 },
	d  => sub { sprintf '2020-02-%02d', between(1, 9) },
	ts => sub { sprintf '2020-02-%02d %02d:00:00', between(1, 9), between(0, 3) },
	tz => sub { sprintf '2020-02-%02d %02d:00:00+00', between(1, 9), between(0, 3) },
	tm => sub { sprintf '%02d:%02d:00', between(0, 3), between(0, 3) },
	iv => sub { pick('1 day', '24 hours', '-1 month', '30 days', '00:00:01') },
	b  => sub { pick('t', 'f') },
	s  => sub { pick('a', 'b', 'B', '', 'ab', '1', '12') },
	mo => sub { between(-500, 500) / 100 });

# What a column may hold instead, all through one table.
my %other_profile = (
	x2 => [ sub { pick(32767, -32768, 200, 1, 0) } ],
	x4 => [ sub { pick(2147483647, -2147483648, 65536, 50000, 1, 0) }, sub { between(30000, 60000) }, sub { 7 } ],
	x8 => [
		sub { pick('9223372036854775807', '-9223372036854775808', 1099511627776, 1, 0) },
		sub { between(2000000000, 5000000000) },
		sub { 7 }
	],
	n => [
		sub { between(-5, 5) . pick('', '.0', '.00', '.5', '.50') },
		sub { pick('NaN', 'Infinity', '-Infinity', '1.5', '0', '2') },
		sub { pick(@numbers_of_40_digits, '1',        '-0.5') },
		sub { pick('1e30',                '-1e30',    '1e-30', '1', '0.0') },
		sub { '3.25' }
	],
	np => [ sub { pick('99999999999.999', '-99999999999.999', '0.001', '0') }, sub { pick('NaN', '1') } ],
	f4 => [
		sub { pick('NaN',  'Infinity', '-Infinity', '-0', '1.5') },
		sub { pick('3e38', '-3e38',    '1.5e38',    '2e38') },
		sub { pick('-0',   '0') }
	],
	f8 => [
		sub { pick('NaN',   'Infinity', '-Infinity', '-0', '1.5') },
		sub { pick('1e200', '-1e200',   '1e-200',    '1') },
		sub { pick('1e308', '1.7e308',  '1') },
		sub { pick('-0',    '0') },
		sub { '-0' },
		sub { sprintf '%.6g', 0.1 + rand(10) },
		sub { sprintf '%.6g', 1e8 + rand(10) }
	],
	d  => [ sub { pick('infinity', '-infinity', '0044-03-15 BC', '2020-02-02') } ],
	ts => [ sub { pick('infinity', '-infinity', '0044-03-15 BC', '2020-02-02') } ],
	tz => [ sub { pick('infinity', '-infinity', '2020-02-02') } ],
	b  => [ sub { 't' }, sub { 'f' } ],
	mo => [ sub { pick('92233720368547758.07', '1.00') } ],
	s  => [ sub { 'x' x between(0, 3000) } ]);

sub new
{
	my ($class, $name) = @_;
	my $self = bless { name => $name, reader => "${name}_reader", tables => [], views => [], sql => '' }, $class;
	$self->{keys}    = weighted(between(2, 6) => 2, between(7, 9) => 1);    # different keys
	$self->{folded}  = chance(0.1);      # whether there is a key of a collation that is not deterministic
	$self->{limited} = chance(0.15);     # whether a role reads that sees some rows only
	$self->{edge}    = chance(0.15);     # whether integers are at the edge of their type in most tables
	$self->{sql} .=
		  "DROP SCHEMA IF EXISTS $name CASCADE;\nCREATE SCHEMA $name;\nSET search_path = $name;\n"
		. "CREATE TYPE mood AS ENUM ("
		. join(', ', map { "'$_'" } @moods) . ");\n";
	# A server without ICU has no such collation.
	$self->{sql} .=
		  "DO \$\$ BEGIN CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);\n"
		. "EXCEPTION WHEN feature_not_supported THEN CREATE COLLATION folded FROM \"C\"; END \$\$;\n"
		if $self->{folded};
	$self->add_table($_) for 0 .. between(4, 6);
	$self->add_views;
	$self->grant;
	return $self;
}

sub rows_of_table
{
	my ($self) = @_;
	return weighted(
		0                   => 1,
		1                   => 1,
		3                   => 1,
		between(4, 12)      => 6,
		between(13, 40)     => 6,
		between(100, 400)   => 0.25,
		between(2000, 5000) => 0.04);
}

# The columns of one table: some keys and all measures, in random order.
sub columns
{
	my ($self) = @_;
	my @keys = ('k4', 'k8', sample(between(4, 14), grep { $_ ne 'k4' && $_ ne 'k8' } @KEYS));
	push @keys, 'kx' if $self->{folded};
	my @columns = ('id', @keys, @MEASURES);
	return sample(scalar @columns, @columns);
}

# Lines for COPY.
sub data
{
	my ($self, $table, @columns) = @_;
	my %draw;
	my $wild = chance(0.25);
	for my $column (@columns)
	{
		my $nulls  = weighted(0 => 4, 0.1 => 3, 0.3 => 2, 0.5 => 1, 1 => 0.15);
		my $keys   = $table->{rows} > 90 ? $table->{rows} : $self->{keys};
		my $skew   = weighted(1 => 5, 3 => 1);
		my $value  = $measure_value{$column};
		my $others = $other_profile{$column};
		if ($others && chance($self->{edge} && $column =~ /^x/ ? 0.7 : 0.2))
		{
			$value = pick(@$others);
			$self->{wide}{$column} = 1;
		}
		if (my $key = $key_value{$column})
		{
			my $domain   = $MANY{$column} ? $keys : $self->{keys};
			my $extremes = $wild && $key_extremes{$column};
			$self->{wide}{$column} = 1 if $extremes;
			$value = sub {
				return pick(@$extremes) if $extremes && chance(0.1);
				return $key->(int($domain * rand()**$skew));
			};
		}
		$draw{$column} = sub { chance($nulls) ? '\N' : $value->() };
	}
	my $number = 0;
	my $first  = pick(0, 1, -3);
	$draw{id} = sub { $first + $number++ };
	my $text = '';
	for (1 .. $table->{rows})
	{
		$text .= join("\t", map { $draw{$_}->() } @columns) . "\n";
	}
	return $text;
}

sub add_table
{
	my ($self, $number) = @_;
	my $kind =
		weighted(plain => 8, temp => 1, unlogged => 1, dropped => 1, list => 1, hash => 1, range => 1, inherited => 1);
	my $table   = { name => "t$number", kind => $kind, rows => $self->rows_of_table };
	my @columns = $self->columns;
	$table->{columns} = \@columns;
	$table->{unique}  = $kind !~ /list|hash|range|inherited/ && chance(0.7);
	my @defined = map { "$_ $TYPE{$_}" . ($_ eq 'id' && $table->{unique} ? ' PRIMARY KEY' : '') } @columns;
	my $of      = { temp => 'TEMP ', unlogged => 'UNLOGGED ' }->{$kind} || '';
	my $name    = $table->{name};
	my %partitioned =
		(list => 'PARTITION BY LIST (k4)', hash => 'PARTITION BY HASH (k4)', range => 'PARTITION BY RANGE (k4)');
	splice @defined, int(rand(@defined)), 0, 'gone1 int4', 'gone2 text' if $kind eq 'dropped';
	my $sql = "CREATE ${of}TABLE $name (" . join(', ', @defined) . ') ' . ($partitioned{$kind} || '') . ";\n";
	$sql .= "ALTER TABLE $name DROP gone1, DROP gone2;\n" if $kind eq 'dropped';
	$sql .= partitions($name, $kind);
	$sql .= "COPY $name (" . join(', ', @columns) . ") FROM STDIN;\n" . $self->data($table, @columns) . "\\.\n"
		if $table->{rows};

	if ($kind eq 'inherited')
	{
		$sql .=
			  "CREATE TABLE ${name}_child (extra int4) INHERITS ($name);\n"
			. "WITH moved AS (DELETE FROM ONLY $name WHERE id % 2 = 0 RETURNING *) "
			. "INSERT INTO ${name}_child SELECT * FROM moved;\n";
	}
	$sql .= "CREATE INDEX ON $name (" . pick('k4', 'k8', 'k4, k8', 'x4') . ");\n" if chance(0.3);
	$sql .= "ANALYZE $name;\n"                                                    if chance(0.8);
	if ($self->{limited} && $kind ne 'temp' && chance(0.7))
	{
		$sql .= "ALTER TABLE $name ENABLE ROW LEVEL SECURITY;\nCREATE POLICY few ON $name USING ("
			. pick('k4 IS NULL OR k4 < 2',
			'x4 > 0', "k8 IN (0, 1)", 'EXISTS (SELECT 1 FROM t0 z WHERE z.k4 = ' . "$name.k4)")
			. ");\n"
			if $number;
	}
	$self->{sql} .= $sql;
	push @{ $self->{tables} }, $table;
	return;
}

sub partitions
{
	my ($name, $kind) = @_;
	my @bounds = {
		list  => [ 'FOR VALUES IN (0, 1, NULL)', 'FOR VALUES IN (2)', 'DEFAULT' ],
		hash  => [ map { "FOR VALUES WITH (MODULUS 3, REMAINDER $_)" } 0 .. 2 ],
		range => [ 'FOR VALUES FROM (MINVALUE) TO (1)', 'FOR VALUES FROM (1) TO (3)', 'DEFAULT' ]
	}->{$kind};
	return '' unless $bounds[0];
	my $sql  = '';
	my $part = 0;
	$sql .= "CREATE TABLE ${name}_" . $part++ . " PARTITION OF $name $_;\n" for @{ $bounds[0] };
	return $sql;
}

sub add_views
{
	my ($self) = @_;
	for my $number (0 .. between(0, 2))
	{
		my $of   = pick(@{ $self->{tables} });
		my $kind = weighted(plain => 3, filtered => 2, barrier => 1, joined => 2);
		my ($name, $text) = ("v$number", "SELECT * FROM $of->{name}");
		$text .= ' WHERE k4 < 3' if $kind eq 'filtered' || $kind eq 'barrier';
		if ($kind eq 'joined')
		{
			my $other = pick(@{ $self->{tables} });
			next if $of->{rows} * $other->{rows} > 600;
			$text = "SELECT a.* FROM $of->{name} a JOIN $other->{name} b ON a.k4 = b.k4";
		}
		my $with = $kind eq 'barrier' ? ' WITH (security_barrier)' : '';
		my $temp = $text =~ /\bt\d/
			&& grep({ $_->{kind} eq 'temp' && $text =~ /\b$_->{name}\b/ } @{ $self->{tables} }) ? 'TEMP ' : '';
		$self->{sql} .= "CREATE ${temp}VIEW $name$with AS $text;\n";
		push @{ $self->{views} },
			{
			name    => $name,
			kind    => "view $kind",
			columns => $of->{columns},
			rows    => $kind eq 'joined' ? 3 * $of->{rows} : $of->{rows} };
	}
	return;
}

# Jobs that change the rights of one schema at the same time would fail.
sub one_at_a_time
{
	my ($statement) = @_;
	return "SELECT pg_advisory_lock(1) \\g /dev/null\n${statement}SELECT pg_advisory_unlock(1) \\g /dev/null\n";
}

# Queries may run as a role that owns nothing, whom row security concerns.
sub grant
{
	my ($self) = @_;
	return unless $self->{limited};
	my ($name, $reader) = @$self{qw(name reader)};
	my @temporary = map { $_->{name} } grep { $_->{kind} eq 'temp' } @{ $self->{tables} };
	$self->{sql} .=
		  "DROP ROLE IF EXISTS $reader;\nCREATE ROLE $reader;\nGRANT USAGE, CREATE ON SCHEMA $name TO $reader;\n"
		. "GRANT ALL ON ALL TABLES IN SCHEMA $name TO $reader;\n"
		. one_at_a_time("GRANT USAGE ON SCHEMA btml TO $reader;\n");
	$self->{sql} .= 'GRANT ALL ON ' . join(', ', @temporary) . " TO $reader;\n" if @temporary;
	$self->{sql} .= "SET ROLE $reader;\n";
	return;
}

sub drop
{
	my ($self) = @_;
	my $sql = "RESET ROLE;\nDISCARD TEMP;\nDROP SCHEMA $self->{name} CASCADE;\n";
	$sql .= one_at_a_time("DROP OWNED BY $self->{reader};\n") . "DROP ROLE $self->{reader};\n" if $self->{limited};
	return $sql;
}

1;
