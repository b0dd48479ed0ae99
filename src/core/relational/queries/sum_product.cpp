#include "core/relational/queries/sum_product.hpp"

#include "core/relational/join/semiring.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace btml::relational {

namespace {

// Semirings over SQL's float8. Infinities and NaN do not distribute, ∞·1 + ∞·0 is NaN and ∞·(1 + 0) is ∞, and the rows
// of a join give the former. So a value here tells which kinds of products a set of rows has, and adds only the finite
// ones up; that is a semiring again.

// What ⊕ and ⊗ of finite numbers come to must be finite, as in SQL. Error out_of_range.
double checked(double result) {
    if (!std::isfinite(result))
        throw Error(ErrorCode::out_of_range, "a sum or a product of factors is out of the range of numbers");
    return result;
}

// S: a semiring whose values are doubles.
template <Semiring S>
struct ByKind {
    struct Value {
        double finite;  // ⊕ over the rows whose product is finite
        unsigned kinds; // of the rows' products; none of the empty set
    };

    static Value zero() { return {S::zero(), 0}; }
    static Value one() { return {S::one(), kind_of(S::one())}; }
    static Value of_factor(double x) { return {std::isfinite(x) ? S::of_factor(x) : S::zero(), kind_of(x)}; }
    static Value add(const Value& a, const Value& b) { return {S::add(a.finite, b.finite), a.kinds | b.kinds}; }
    static Value multiply(const Value& a, const Value& b) {
        const bool finite = (a.kinds & finite_kinds) && (b.kinds & finite_kinds);
        return {finite ? S::multiply(a.finite, b.finite) : S::zero(), multiply_kinds(a.kinds, b.kinds)};
    }
    // ⊕ over all of the rows. Error out_of_range where finite ones have no finite sum.
    static double result(const Value& value) {
        double sum = value.kinds & finite_kinds ? checked(value.finite) : S::zero();
        for (unsigned kind = 3; kind < examples.size(); kind++)
            if (value.kinds & 1U << kind) sum = S::add(sum, examples[kind]);
        return sum;
    }

  private:
    // A number of each kind. It tells the kind of any product; sums of finite numbers are finite, whichever of the
    // finite kinds they count as.
    static constexpr std::array<double, 6> examples{0,
                                                    1,
                                                    -1,
                                                    std::numeric_limits<double>::infinity(),
                                                    -std::numeric_limits<double>::infinity(),
                                                    std::numeric_limits<double>::quiet_NaN()};
    static constexpr unsigned finite_kinds = 7;

    static unsigned kind_of(double x) {
        if (std::isnan(x)) return 1U << 5;
        if (std::isinf(x)) return x > 0 ? 1U << 3 : 1U << 4;
        return x == 0 ? 1U : x > 0 ? 1U << 1 : 1U << 2;
    }
    static unsigned multiply_kinds(unsigned a, unsigned b) {
        unsigned kinds = 0;
        for (unsigned i = 0; i < examples.size(); i++)
            for (unsigned j = 0; j < examples.size(); j++)
                if (a & 1U << i && b & 1U << j) kinds |= kind_of(S::multiply(examples[i], examples[j]));
        return kinds;
    }
};

// body(S{}) for the semiring type that a name stands for.
template <class Body>
auto with_semiring(SemiringName semiring, Body&& body) {
    switch (semiring) {
    case SemiringName::sum_product:
        return body(SumProduct{});
    case SemiringName::max_product:
        return body(MaxProduct{});
    case SemiringName::min_plus:
        return body(MinPlus{});
    case SemiringName::max_plus:
        return body(MaxPlus{});
    case SemiringName::or_and:
        return body(OrAnd{});
    }
    throw Error(ErrorCode::internal, format("no semiring has the number %d", static_cast<int>(semiring)));
}

bool are_finite(std::initializer_list<double> numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

template <Semiring S>
double add_checked(double a, double b) {
    return are_finite({a, b}) ? checked(S::add(a, b)) : S::add(a, b);
}

template <Semiring S>
double multiply_checked(double a, double b) {
    return are_finite({a, b}) ? checked(S::multiply(a, b)) : S::multiply(a, b);
}

[[noreturn]] void report_negative(const std::string& what, double value) {
    throw Error(ErrorCode::invalid_argument,
                format("max_product needs factors that are not negative, %s has the value %g", what.c_str(), value),
                "The maximum does not distribute over products of mixed sign.");
}

void check_factors(const Join& join, const Factors& factors, SemiringName semiring) {
    if (factors.size() != static_cast<size_t>(join.relations()))
        throw Error(ErrorCode::internal,
                    format("a query has factors for %zu tables, the join has %d", factors.size(), join.relations()));
    for (size_t t = 0; t < factors.size(); t++) {
        const Table& table = join.tables()[t];
        if (factors[t].empty()) continue;
        if (factors[t].size() != table.rows)
            throw Error(ErrorCode::internal,
                        format("the factor of table \"%s\" has %zu values, the table has %" PRIu64 " rows",
                               table.name.c_str(), factors[t].size(), table.rows));
        if (semiring != SemiringName::max_product) continue;
        for (double factor : factors[t])
            if (factor < 0) report_negative(format("the factor of table \"%s\"", table.name.c_str()), factor);
    }
}

const DataColumn& factor_column(const Table& table, int column) {
    if (column < 0 || static_cast<size_t>(column) >= table.columns.size())
        throw Error(ErrorCode::internal, format("table \"%s\" has no column number %d", table.name.c_str(), column));
    const DataColumn& values = table.columns[column];
    if (values.kind != DataColumn::Kind::number)
        throw Error(ErrorCode::wrong_type, format("factor \"%s\" is not a number", values.name.c_str()));
    return values;
}

} // namespace

SemiringName parse_semiring(std::string_view name) {
    const auto* const known = std::find(semiring_names.begin(), semiring_names.end(), name);
    if (known != semiring_names.end()) return static_cast<SemiringName>(known - semiring_names.begin());
    throw Error(ErrorCode::invalid_argument, format("unknown semiring \"%s\"", std::string(name).c_str()), {},
                format("Valid semirings are %s.", quoted_list({semiring_names.begin(), semiring_names.end()}).c_str()));
}

Buffer<double> table_factor(const Table& table, const std::vector<int>& columns, SemiringName semiring,
                            RunContext& context) {
    return with_semiring(semiring, [&]<Semiring S>(S) {
        Buffer<double> product(context.memory(), "the factors of a query over a join", table.rows, S::one());
        for (int number : columns) {
            const DataColumn& column = factor_column(table, number);
            context.for_each(table.rows, 1, [&](uint64_t row) {
                const double factor = column.numbers[row];
                if (is_null(factor))
                    throw Error(ErrorCode::null_value, format("factor \"%s\" is NULL", column.name.c_str()));
                if (std::is_same_v<S, MaxProduct> && factor < 0)
                    report_negative(format("factor \"%s\"", column.name.c_str()), factor);
                product[row] = multiply_checked<S>(product[row], S::of_factor(factor));
            });
        }
        return product;
    });
}

namespace {

template <Semiring S>
InsideOut<S, ColumnFactors<S>> query(const Join& join, int root, const Factors& factors, RunContext& context) {
    return {join, root, {factors}, context};
}

// A finite result is right: infinite factors below it were absorbed by ⊕, as they are in the rows, or there are none.
// The root is the largest table: a fact table whose dimensions have unique keys gets one term for each of its rows and
// dimensions, and the order of rows changes no bit of the total.
template <Semiring S>
double total(const Join& join, const Factors& factors, RunContext& context) {
    const int root = join.largest_table();
    const double result = query<S>(join, root, factors, context).total();
    if (std::isfinite(result)) return result;
    return ByKind<S>::result(query<ByKind<S>>(join, root, factors, context).total());
}

// The semiring that finds the rows whose finite factors have no finite product where ⊕ of S may pass over them: a
// minimum or a maximum over the sums that overflow to its own identity, and a sum over two products that cancel.
constexpr MaxAbsProduct largest_of(SumProduct) {
    return {};
}
constexpr MaxPlus largest_of(MinPlus) {
    return {};
}
constexpr MinPlus largest_of(MaxPlus) {
    return {};
}

// No product of one factor of each of these tables overflows where all finite ones are at most so large.
template <Semiring S>
double safe_factor(size_t tables) {
    const double count = std::max<size_t>(tables, 1);
    constexpr int exponent = std::numeric_limits<double>::max_exponent - 1;
    return std::is_same_v<S, SumProduct> ? std::exp2(exponent / count) : std::exp2(exponent) / count;
}

// Says whether a finite number of absolute value above `safe` is among the factors.
bool hold_larger(const Factors& factors, double safe, RunContext& context) {
    bool larger = false;
    for (const Buffer<double>& column : factors)
        context.for_each(column.size(), 1, [&](uint64_t row) {
            larger |=
                (std::abs(column[row]) > safe) & (std::abs(column[row]) < std::numeric_limits<double>::infinity());
        });
    return larger;
}

// Error out_of_range where the finite factors of a row have no finite product, as the row by itself would have it.
template <Semiring S>
void check_rows(const Join& join, const Factors& factors, RunContext& context) {
    if constexpr (requires { largest_of(S{}); }) {
        if (hold_larger(factors, safe_factor<S>(factors.size()), context))
            total<decltype(largest_of(S{}))>(join, factors, context);
    }
}

} // namespace

double sum_product(const Join& join, const Factors& factors, SemiringName semiring, RunContext& context) {
    check_factors(join, factors, semiring);
    return with_semiring(semiring, [&]<Semiring S>(S) {
        check_rows<S>(join, factors, context);
        return total<S>(join, factors, context);
    });
}

Buffer<double> sum_product_by_row(const Join& join, const Factors& factors, SemiringName semiring, int table,
                                  RunContext& context) {
    check_factors(join, factors, semiring);
    return with_semiring(semiring, [&]<Semiring S>(S) {
        check_rows<S>(join, factors, context);
        Buffer<double> results = query<S>(join, table, factors, context).values();
        if (std::all_of(results.begin(), results.end(), [](double x) { return std::isfinite(x); })) return results;
        const auto values = query<ByKind<S>>(join, table, factors, context).values();
        std::transform(values.begin(), values.end(), results.begin(), ByKind<S>::result);
        return results;
    });
}

double add(SemiringName semiring, double a, double b) {
    return with_semiring(semiring, [&]<Semiring S>(S) { return add_checked<S>(a, b); });
}

double multiply(SemiringName semiring, double a, double b) {
    return with_semiring(semiring, [&]<Semiring S>(S) { return multiply_checked<S>(a, b); });
}

double zero(SemiringName semiring) {
    return with_semiring(semiring, []<Semiring S>(S) { return S::zero(); });
}

double one(SemiringName semiring) {
    return with_semiring(semiring, []<Semiring S>(S) { return S::one(); });
}

} // namespace btml::relational
