#include "pg/planner/output.hpp"

#include "pg/bridge/postgres.hpp"
#include "pg/values/decimal.hpp"

extern "C" {
#include "utils/date.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
}

namespace btml::pg::planner {

using namespace relational;

namespace {

Datum number_datum(double number, Oid type) {
    return type == FLOAT4OID ? Float4GetDatum(static_cast<float4>(number)) : Float8GetDatum(number);
}

Datum int64_datum(__int128 value) {
    if (value > PG_INT64_MAX || value < PG_INT64_MIN)
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
    return Int64GetDatum(static_cast<int64>(value));
}

Datum extremum(const AggregateOutput& output, const StreamedCell& cell) {
    switch (output.cell) {
    case CellKind::number_min:
    case CellKind::number_max:
        return number_datum(cell.number, output.type);
    case CellKind::decimal_min:
    case CellKind::decimal_max:
    case CellKind::decimal_max_product:
        return numeric_of(cell.integer, cell.scale);
    default:
        return word_datum(static_cast<int64_t>(cell.integer), output.type);
    }
}

Datum total(const AggregateOutput& output, const StreamedCell& cell) {
    if (output.cell == CellKind::number_sum) return Float8GetDatum(cell.number);
    if (output.cell == CellKind::decimal_sum) return numeric_of(cell.integer, cell.scale);
    return output.type == INT8OID ? numeric_of(cell.integer, 0) : int64_datum(cell.integer);
}

Datum average(const AggregateOutput& output, const StreamedCell& cell, __int128 count) {
    // PostgreSQL's average, unlike its sum, begins with 0: that of −0 is 0.
    if (output.cell == CellKind::number_sum) return Float8GetDatum((0 + cell.number) / static_cast<double>(count));
    const int scale = output.cell == CellKind::decimal_sum ? cell.scale : 0;
    return DirectFunctionCall2(numeric_div, numeric_of(cell.integer, scale), numeric_of(count, 0));
}

Datum call(PGFunction function, Datum a, Datum b) {
    return DirectFunctionCall2(function, a, b);
}

// PostgreSQL takes the root of the rounded variance at the variance's own scale. numeric_sqrt gives more digits where
// the argument displays more; these are so many that rounding them is rounding the root.
Datum root_of(Datum variance) {
    constexpr int more_digits = 40;
    const Datum scale = DirectFunctionCall1(numeric_scale, variance);
    const Datum zero = numeric_of(0, 0);
    const Datum padded =
        call(numeric_add, variance, call(numeric_round, zero, Int32GetDatum(DatumGetInt32(scale) + more_digits)));
    return call(numeric_round, DirectFunctionCall1(numeric_sqrt, padded), scale);
}

bool is_sample(AggregateFunction function) {
    return function == AggregateFunction::var_samp || function == AggregateFunction::stddev_samp;
}

// (n·Σx² − (Σx)²) / (n·(n − 1)), or / n², by numeric's own arithmetic; 0 where that is not positive.
Datum variance(const AggregateOutput& output, const StreamedCell& sum, const StreamedCell& squares, __int128 count) {
    const bool sample = is_sample(output.function);
    const bool root =
        output.function == AggregateFunction::stddev_pop || output.function == AggregateFunction::stddev_samp;
    const int scale = output.cell == CellKind::decimal_sum ? sum.scale : 0;
    const Datum n = numeric_of(count, 0), s = numeric_of(sum.integer, scale);
    const Datum numerator =
        call(numeric_sub, call(numeric_mul, n, numeric_of(squares.integer, 2 * scale)), call(numeric_mul, s, s));
    if (!DatumGetBool(call(numeric_gt, numerator, numeric_of(0, 0)))) return numeric_of(0, 0);
    const Datum value = call(numeric_div, numerator, call(numeric_mul, n, numeric_of(sample ? count - 1 : count, 0)));
    return root ? root_of(value) : value;
}

} // namespace

Datum word_datum(int64_t word, Oid type) {
    switch (type) {
    case INT2OID:
        return Int16GetDatum(static_cast<int16>(word));
    case INT4OID:
    case DATEOID:
        return Int32GetDatum(static_cast<int32>(word));
    case BOOLOID:
        return BoolGetDatum(word != 0);
    case CHAROID:
        return CharGetDatum(static_cast<char>(word));
    case INT8OID:
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return Int64GetDatum(word);
    case FLOAT4OID:
    case FLOAT8OID:
        return number_datum(std::bit_cast<double>(word), type);
    default: // oid, enum
        return ObjectIdGetDatum(static_cast<Oid>(word));
    }
}

bool output_datum(const AggregateOutput& output, const GroupTotals& totals, Datum* value) {
    const auto& [sum, squares, count] = totals;
    if (output.function == AggregateFunction::count) {
        *value = int64_datum(count);
        return true;
    }
    if (is_extremum(output.cell)) {
        if (!sum.absent) *value = extremum(output, sum);
        return !sum.absent;
    }
    if (count <= (is_sample(output.function) ? 1 : 0)) return false;
    *value = is_variance(output.function)                ? variance(output, sum, squares, count)
             : output.function == AggregateFunction::sum ? total(output, sum)
                                                         : average(output, sum, count);
    return true;
}

} // namespace btml::pg::planner
