#include "core/relational/queries/sum_product.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include "core/relational/join/inside_out.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ExpiringContext;

constexpr SemiringName all_semirings[] = {SemiringName::sum_product, SemiringName::max_product, SemiringName::min_plus,
                                          SemiringName::max_plus, SemiringName::or_and};

bool adds_factors(SemiringName semiring) {
    return semiring == SemiringName::min_plus || semiring == SemiringName::max_plus;
}

double brute_zero(SemiringName semiring) {
    if (semiring == SemiringName::min_plus) return INFINITY;
    return semiring == SemiringName::max_plus ? -INFINITY : 0;
}

double brute_one(SemiringName semiring) {
    return adds_factors(semiring) ? 0 : 1;
}

// The definitions, apart from the library's own add and multiply, in numbers that do not overflow where doubles do.
using Wide = long double;
constexpr Wide largest = std::numeric_limits<double>::max();

// A result as it should be: an error for sure, perhaps (where the order of the operations decides), or a value that is
// as exact as its terms are large.
struct Expected {
    Wide value;
    Wide terms = 0, positive = 0, negative = 0; // sums of finite terms: of absolute values, by sign
    bool fails = false, may_fail = false;

    void add_term(Wide x) {
        if (!std::isfinite(x)) return;
        terms += std::abs(x);
        (x > 0 ? positive : negative) += x;
        may_fail |= positive > largest || negative < -largest;
    }
    void check_range() { fails |= std::isfinite(value) && std::abs(value) > largest; }
};

Expected row_of(SemiringName semiring, const std::vector<double>& factors) {
    Expected row{brute_one(semiring)};
    Wide large = 1;
    for (const double x : factors) {
        if (semiring == SemiringName::or_and) {
            row.value = row.value != 0 && x != 0; // NaN is no 0
        } else if (adds_factors(semiring)) {
            row.value += x;
            row.add_term(x);
        } else {
            row.value *= x;
            if (std::isfinite(x)) large *= std::max<Wide>(1, std::abs(x));
        }
    }
    row.may_fail |= large > largest;
    row.check_range();
    if (!adds_factors(semiring)) row.terms = std::isfinite(row.value) ? std::abs(row.value) : 0;
    return row;
}

void add_row(SemiringName semiring, Expected& sum, const Expected& row) {
    sum.fails |= row.fails;
    sum.may_fail |= row.may_fail;
    if (semiring == SemiringName::sum_product) {
        sum.value += row.value;
        sum.add_term(row.value);
    } else {
        sum.terms = std::max(sum.terms, row.terms);
        if (std::isnan(sum.value) || std::isnan(row.value))
            sum.value = NAN;
        else
            sum.value =
                semiring == SemiringName::min_plus ? std::min(sum.value, row.value) : std::max(sum.value, row.value);
    }
}

// Tables whose number is in `with` have factors, the others have none.
struct Query {
    std::vector<bool> with;

    Expected of(const PlainJoin& plain, const Tuple& tuple, SemiringName semiring) const {
        std::vector<double> factors;
        for (size_t t = 0; t < tuple.size(); t++)
            if (with[t]) factors.push_back(factor_of(plain, t, tuple[t]));
        return row_of(semiring, factors);
    }
    Factors factors(const Join& join, RunContext& context) const {
        Factors list;
        for (size_t t = 0; t < with.size(); t++) {
            list.emplace_back(context.memory(), "a test");
            if (!with[t]) continue;
            for (double factor : join.tables()[t].columns[2].numbers) list.back().push_back(factor);
        }
        return list;
    }
};

void expect_close(double actual, double expected) {
    if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << actual;
    } else if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected);
    } else {
        EXPECT_NEAR(actual, expected, 1e-9 * std::max(1.0, std::abs(expected)));
    }
}

void expect_result(double actual, const Expected& expected) {
    if (std::isfinite(expected.value)) {
        EXPECT_LE(std::abs(actual - expected.value), 1e-9 * std::max<Wide>(1, expected.terms))
            << actual << " is not " << expected.value;
    } else {
        expect_close(actual, static_cast<double>(expected.value));
    }
}

// body's results where there need be no error, as `expected` says.
template <class Body>
void expect_error_or(const Expected& expected, Body&& body) {
    const Caught error = caught(body);
    if (error.thrown) {
        EXPECT_EQ(error.code, ErrorCode::out_of_range);
        EXPECT_TRUE(expected.fails || expected.may_fail) << "an error where no row overflows";
    } else {
        EXPECT_FALSE(expected.fails) << "no error where a row overflows";
    }
}

void expect_by_row(const Join& join, const PlainJoin& plain, const std::vector<Tuple>& rows, const Query& query,
                   SemiringName semiring, size_t t, RunContext& context) {
    std::map<int, Expected> by_row;
    for (const Tuple& tuple : rows) {
        Expected& sum = by_row.try_emplace(tuple[t], Expected{brute_zero(semiring)}).first->second;
        add_row(semiring, sum, query.of(plain, tuple, semiring));
    }
    Expected any{0};
    for (auto& [row, sum] : by_row) {
        sum.check_range();
        any.fails |= sum.fails;
        any.may_fail |= sum.may_fail;
    }
    expect_error_or(any, [&] {
        const int table = static_cast<int>(t);
        const Factors factors = query.factors(join, context);
        const Buffer<double> actual = sum_product_by_row(join, factors, semiring, table, context);
        ASSERT_EQ(actual.size(), by_row.size());
        for (uint64_t row = 0; row < actual.size() && !any.fails; row++)
            expect_result(actual[row], by_row.at(original_row(join, table, row)));
    });
}

void expect_query(const Join& join, const PlainJoin& plain, const std::vector<Tuple>& rows, const Query& query,
                  SemiringName semiring, RunContext& context) {
    Expected whole{brute_zero(semiring)};
    for (const Tuple& tuple : rows) add_row(semiring, whole, query.of(plain, tuple, semiring));
    whole.check_range();
    expect_error_or(whole, [&] {
        const double actual = sum_product(join, query.factors(join, context), semiring, context);
        if (!whole.fails) expect_result(actual, whole);
    });
    for (size_t t = 0; t < plain.tables.size(); t++) expect_by_row(join, plain, rows, query, semiring, t, context);
}

// Each factor becomes one of `odd` with the probability `chance`; under max_product its absolute value. Large ones are
// such that two of them overflow.
struct OddFactors {
    double chance = 0;
    std::vector<double> odd{};
    bool large = false;

    double draw(SemiringName semiring, Random& random) const {
        const int choice = random.below(static_cast<int>(odd.size()) + (large ? 2 : 0));
        if (choice < static_cast<int>(odd.size())) return odd[static_cast<size_t>(choice)];
        const double size = adds_factors(semiring) ? 1.2e308 : 1e200;
        return choice % 2 == 0 ? size : -size;
    }
    void put_into(PlainJoin& plain, SemiringName semiring, Random& random) const {
        for (PlainTable& table : plain.tables)
            for (double& factor : table.factors)
                if (random.chance(chance)) {
                    factor = draw(semiring, random);
                    if (semiring == SemiringName::max_product) factor = std::abs(factor);
                }
    }
};

void expect_nested_loops(RandomShape shape, const OddFactors& odd = {}, uint64_t seeds = 300) {
    for (uint64_t seed = 0; seed < seeds; seed++) {
        for (SemiringName semiring : all_semirings) {
            SCOPED_TRACE(seed);
            SCOPED_TRACE(static_cast<int>(semiring));
            QuietContext context;
            shape.signed_factors = semiring != SemiringName::max_product;
            PlainJoin plain = random_join(seed + 20'000, shape);
            Random random(seed);
            odd.put_into(plain, semiring, random);
            const Join join = columnar(plain, context);
            Query query;
            for (size_t t = 0; t < plain.tables.size(); t++) query.with.push_back(random.chance(0.8));
            expect_query(join, plain, brute_force(plain), query, semiring, context);
            if (testing::Test::HasFailure()) return;
        }
    }
}

TEST(SumProduct, EqualsNestedLoops) {
    expect_nested_loops({});
}

TEST(SumProduct, OverCyclicJoinsEqualsNestedLoops) {
    expect_nested_loops(cyclic_shape);
}

TEST(SumProduct, InfinityAndNaNAreThoseOfTheRows) {
    const OddFactors odd{0.1, {INFINITY, 0, NAN, 2, -INFINITY, -1}};
    expect_nested_loops({}, odd);
    expect_nested_loops(cyclic_shape, odd);
}

TEST(SumProduct, RowsThatOverflowAreErrors) {
    for (const double chance : {0.03, 0.1}) {
        expect_nested_loops({}, {chance, {}, true}, 80);
        expect_nested_loops(cyclic_shape, {chance, {}, true}, 80);
    }
}

TEST(SumProduct, RowsThatOverflowBesideInfinityAndNaN) {
    const OddFactors odd{0.1, {INFINITY, 0, -INFINITY, NAN}, true};
    expect_nested_loops({}, odd, 100);
    expect_nested_loops(cyclic_shape, odd, 100);
}

// Tables without keys.
Join product_of(const std::vector<std::vector<double>>& factors, RunContext& context) {
    PlainJoin plain;
    for (const std::vector<double>& column : factors)
        plain.tables.push_back({{}, {}, static_cast<int>(column.size()), column});
    return columnar(plain, context);
}

TEST(SumProduct, FiniteFactorsHaveAFiniteResultOrAnError) {
    QuietContext context;
    const Query both{{true, true}};
    const auto result = [&](SemiringName semiring, double a, double b) {
        const Join join = product_of({{a}, {b}}, context);
        return sum_product(join, both.factors(join, context), semiring, context);
    };
    for (const auto& [semiring, a] : {std::pair{SemiringName::sum_product, 1e200},
                                      {SemiringName::max_product, 1e200},
                                      {SemiringName::min_plus, 1.7e308},
                                      {SemiringName::max_plus, 1.7e308}}) {
        const Caught overflow = caught([&] { result(semiring, a, a); });
        EXPECT_EQ(overflow.code, ErrorCode::out_of_range);
        EXPECT_EQ(overflow.message, "a sum or a product of factors is out of the range of numbers");
        EXPECT_EQ(result(semiring, a, INFINITY), INFINITY);
        EXPECT_EQ(caught([&] { multiply(semiring, a, a); }).code, ErrorCode::out_of_range);
        EXPECT_EQ(multiply(semiring, a, INFINITY), INFINITY);
    }
    EXPECT_EQ(caught([] { add(SemiringName::sum_product, 1.7e308, 1.7e308); }).code, ErrorCode::out_of_range);
    EXPECT_EQ(result(SemiringName::or_and, NAN, INFINITY), 1);
}

TEST(SumProduct, ARowThatOverflowsIsNotAbsorbedByAnother) {
    QuietContext context;
    const Query all{{true, true, true}};
    for (const auto& [semiring, a, b] : {std::tuple{SemiringName::min_plus, 1.2e308, 0.0},
                                         {SemiringName::max_plus, -1.2e308, 0.0},
                                         {SemiringName::sum_product, 1e200, -1e200}}) {
        const Join join = product_of({{a, b}, {a, b}, {1}}, context);
        EXPECT_EQ(caught([&] { sum_product(join, all.factors(join, context), semiring, context); }).code,
                  ErrorCode::out_of_range);
    }
}

// Count, sum and sum of squares of numbers that add up along a join row: r = Σ over the tables of r_t(ρ_t).
struct Moments {
    struct Value {
        double count, sum, squares;
        friend constexpr bool operator==(const Value&, const Value&) = default;
    };
    static constexpr Value zero() { return {0, 0, 0}; }
    static constexpr Value one() { return {1, 0, 0}; }
    // One row whose table contributes r.
    static constexpr Value of_factor(double r) { return {1, r, r * r}; }
    static constexpr Value add(const Value& a, const Value& b) {
        return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
    }
    static constexpr Value multiply(const Value& a, const Value& b) {
        return {a.count * b.count, a.count * b.sum + b.count * a.sum,
                a.count * b.squares + b.count * a.squares + 2 * a.sum * b.sum};
    }
};

// `width` queries over one semiring at a time, element by element.
template <Semiring S, size_t width>
struct Vector {
    using Value = std::array<typename S::Value, width>;

    static constexpr Value filled(typename S::Value x) {
        Value value{};
        value.fill(x);
        return value;
    }
    static constexpr Value zero() { return filled(S::zero()); }
    static constexpr Value one() { return filled(S::one()); }
    static constexpr Value add(const Value& a, const Value& b) {
        Value sum;
        for (size_t i = 0; i < width; i++) sum[i] = S::add(a[i], b[i]);
        return sum;
    }
    static constexpr Value multiply(const Value& a, const Value& b) {
        Value product;
        for (size_t i = 0; i < width; i++) product[i] = S::multiply(a[i], b[i]);
        return product;
    }
};

// r of each row of the join is the sum of its rows' factors; three vector components scale it differently.
struct MomentFactors {
    const Join& join;

    template <class Body>
    void visit(int table, Body&& body) const {
        if (table >= join.relations()) {
            body([](RowId) { return Moments::one(); });
            return;
        }
        const double* const r = join.tables()[static_cast<size_t>(table)].columns[2].numbers.data();
        body([r](RowId row) { return Moments::of_factor(r[row]); });
    }
};

using ThreeSums = Vector<SumProduct, 3>;

struct ThreeFactors {
    const Join& join;

    template <class Body>
    void visit(int table, Body&& body) const {
        if (table >= join.relations()) {
            body([](RowId) { return ThreeSums::one(); });
            return;
        }
        const double* const x = join.tables()[static_cast<size_t>(table)].columns[2].numbers.data();
        body([x](RowId row) { return ThreeSums::Value{1, x[row], x[row] > 0 ? 1.0 : 0.0}; });
    }
};

struct ByBruteForce {
    Moments::Value moments = Moments::zero();
    ThreeSums::Value sums = ThreeSums::zero();
    double most = -INFINITY;

    void add(const PlainJoin& plain, const Tuple& tuple) {
        double r = 0, product = 1, positive = 1;
        for (size_t t = 0; t < tuple.size(); t++) {
            const double factor = factor_of(plain, t, tuple[t]);
            r += factor;
            product *= factor;
            positive *= factor > 0;
        }
        moments = {moments.count + 1, moments.sum + r, moments.squares + r * r};
        sums = {sums[0] + 1, sums[1] + product, sums[2] + positive};
    }
};

template <Semiring S, class FactorsOf, class Compare>
void expect_all_rows(const Join& join, const PlainJoin& plain, const std::vector<Tuple>& rows, FactorsOf factors,
                     RunContext& context, Compare&& compare) {
    const int count = static_cast<int>(plain.tables.size());
    InsideOut<S, FactorsOf> query(join, join.tree().order.back(), factors, context);
    ByBruteForce whole;
    for (const Tuple& tuple : rows) whole.add(plain, tuple);
    compare(query.total(), whole);
    for (int table = 0; table < count; table++) {
        std::map<int, ByBruteForce> by_row;
        for (const Tuple& tuple : rows) by_row[tuple[static_cast<size_t>(table)]].add(plain, tuple);
        const auto values = InsideOut<S, FactorsOf>(join, table, factors, context).values();
        ASSERT_EQ(values.size(), by_row.size());
        for (uint64_t row = 0; row < values.size(); row++)
            compare(values[row], by_row.at(original_row(join, table, row)));
    }
}

TEST(InsideOut, AnswersForTheRowsOfEveryTable) {
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = seed % 2 ? random_join(seed, cyclic_shape) : random_join(seed + 30'000);
        const Join join = columnar(plain, context);
        const std::vector<Tuple> rows = brute_force(plain);
        expect_all_rows<Moments>(join, plain, rows, MomentFactors{join}, context,
                                 [](const Moments::Value& actual, const ByBruteForce& expected) {
                                     EXPECT_EQ(actual.count, expected.moments.count);
                                     expect_close(actual.sum, expected.moments.sum);
                                     expect_close(actual.squares, expected.moments.squares);
                                 });
        expect_all_rows<ThreeSums>(join, plain, rows, ThreeFactors{join}, context,
                                   [](const ThreeSums::Value& actual, const ByBruteForce& expected) {
                                       for (size_t i = 0; i < 3; i++) expect_close(actual[i], expected.sums[i]);
                                   });
        expect_all_rows<Counting>(join, plain, rows, NoFactors<Counting>{}, context,
                                  [](uint64_t actual, const ByBruteForce& expected) {
                                      EXPECT_EQ(actual, static_cast<uint64_t>(expected.moments.count));
                                  });
        if (HasFailure()) return;
    }
}

// More rows than a block, a star with several children on both sides of each.
TEST(InsideOut, ManyBlocks) {
    QuietContext context;
    const int facts = 150'000, dimensions = 50;
    PlainJoin plain;
    PlainTable fact;
    fact.rows = facts;
    for (int d = 0; d < 3; d++) {
        fact.attributes.push_back(d);
        fact.keys.emplace_back();
        PlainTable dimension{{d}, {{}}, dimensions, {}};
        for (int row = 0; row < dimensions; row++) {
            dimension.keys[0].push_back(static_cast<Key>(row));
            dimension.factors.push_back(d + row);
        }
        plain.tables.push_back(dimension);
    }
    for (int row = 0; row < facts; row++) {
        for (size_t d = 0; d < 3; d++)
            fact.keys[d].push_back(static_cast<Key>(random_bits(d, 0, static_cast<uint64_t>(row)) % 50));
        fact.factors.push_back(row % 5);
    }
    plain.tables.push_back(fact);
    const Join join = columnar(plain, context);
    std::vector<std::vector<ByBruteForce>> expected(4);
    for (size_t t = 0; t < 4; t++) expected[t].resize(static_cast<size_t>(plain.tables[t].rows));
    for (int row = 0; row < facts; row++) {
        Tuple tuple;
        for (size_t d = 0; d < 3; d++) tuple.push_back(static_cast<int>(fact.keys[d][static_cast<size_t>(row)]));
        tuple.push_back(row);
        for (size_t t = 0; t < 4; t++) expected[t][static_cast<size_t>(tuple[t])].add(plain, tuple);
    }
    for (size_t t = 0; t < 4; t++) {
        const auto values = InsideOut<Moments, MomentFactors>(join, static_cast<int>(t), {join}, context).values();
        ASSERT_EQ(values.size(), expected[t].size());
        for (size_t row = 0; row < values.size(); row++) {
            ASSERT_EQ(values[row].count, expected[t][row].moments.count);
            expect_close(values[row].sum, expected[t][row].moments.sum);
            expect_close(values[row].squares, expected[t][row].moments.squares);
        }
    }
}

TEST(InsideOut, CanBeCancelled) {
    const PlainJoin plain = random_join(7, {.max_tables = 6, .left_join = 0.5});
    QuietContext quiet;
    const Join join = columnar(plain, quiet);
    const uint64_t held = quiet.memory().used();
    uint64_t units = 0;
    for (bool finished = false; !finished; units++) {
        ExpiringContext context(units);
        try {
            InsideOut<SumProduct, NoFactors<SumProduct>> query(join, 0, {}, context);
            query.values();
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(units, 30U);
    EXPECT_EQ(quiet.memory().used(), held);
}

TEST(SumProduct, EmptyJoinGivesTheIdentity) {
    QuietContext context;
    const Join join = columnar(PlainJoin{{{{0}, {{1}}, 1, {2.0}}, {{0}, {{2}}, 1, {2.0}}}, {}}, context);
    for (SemiringName semiring : all_semirings) {
        Factors none;
        for (int t = 0; t < 2; t++) none.emplace_back(context.memory(), "a test");
        EXPECT_EQ(sum_product(join, none, semiring, context), brute_zero(semiring));
        EXPECT_EQ(zero(semiring), brute_zero(semiring));
        EXPECT_EQ(one(semiring), brute_one(semiring));
    }
}

TEST(SumProduct, AddAndMultiply) {
    EXPECT_EQ(add(SemiringName::sum_product, 2, 3), 5);
    EXPECT_EQ(multiply(SemiringName::sum_product, 2, 3), 6);
    EXPECT_EQ(add(SemiringName::max_product, 2, 3), 3);
    EXPECT_EQ(multiply(SemiringName::max_product, 2, 3), 6);
    EXPECT_EQ(add(SemiringName::min_plus, 2, 3), 2);
    EXPECT_EQ(multiply(SemiringName::min_plus, 2, 3), 5);
    EXPECT_EQ(add(SemiringName::max_plus, -2, -3), -2);
    EXPECT_EQ(multiply(SemiringName::max_plus, 2, 3), 5);
    EXPECT_EQ(add(SemiringName::or_and, 0, 3), 1);
    EXPECT_EQ(add(SemiringName::or_and, 0, 0), 0);
    EXPECT_EQ(multiply(SemiringName::or_and, 2, 3), 1);
    EXPECT_EQ(multiply(SemiringName::or_and, 2, 0), 0);
    for (SemiringName semiring :
         {SemiringName::sum_product, SemiringName::max_product, SemiringName::min_plus, SemiringName::max_plus}) {
        EXPECT_TRUE(std::isnan(add(semiring, NAN, 1)) && std::isnan(add(semiring, 1, NAN)));
        EXPECT_TRUE(std::isnan(multiply(semiring, NAN, 1)) && std::isnan(multiply(semiring, 1, NAN)));
    }
}

TEST(SumProduct, Names) {
    const char* const names[] = {"sum_product", "max_product", "min_plus", "max_plus", "or_and"};
    for (size_t i = 0; i < 5; i++) EXPECT_EQ(parse_semiring(names[i]), all_semirings[i]);
    const Caught error = caught([] { parse_semiring("tropical"); });
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_EQ(error.message, "unknown semiring \"tropical\"");
    EXPECT_EQ(error.hint, R"(Valid semirings are "sum_product", "max_product", "min_plus", "max_plus", "or_and".)");
}

Table table_with(std::vector<double> x, std::vector<double> y, RunContext& context) {
    Table table;
    table.name = "t";
    table.rows = x.size();
    for (const auto& [name, values] : {std::pair{"x", x}, {"y", y}}) {
        table.columns.push_back({name,
                                 DataColumn::Kind::number,
                                 Buffer<double>(context.memory(), "a test"),
                                 Buffer<uint32_t>(context.memory(), "a test"),
                                 {}});
        for (double value : values) table.columns.back().numbers.push_back(value);
    }
    return table;
}

TEST(SumProduct, TableFactorMultipliesColumns) {
    QuietContext context;
    const Table table = table_with({2, 3}, {5, 0}, context);
    const auto factor = [&](SemiringName semiring, std::vector<int> columns) {
        const Buffer<double> values = table_factor(table, columns, semiring, context);
        return std::vector<double>(values.begin(), values.end());
    };
    EXPECT_EQ(factor(SemiringName::sum_product, {0, 1}), (std::vector<double>{10, 0}));
    EXPECT_EQ(factor(SemiringName::min_plus, {0, 1}), (std::vector<double>{7, 3}));
    EXPECT_EQ(factor(SemiringName::or_and, {0, 1}), (std::vector<double>{1, 0}));
    EXPECT_EQ(factor(SemiringName::or_and, {0}), (std::vector<double>{1, 1}));
    EXPECT_EQ(factor(SemiringName::max_plus, {}), (std::vector<double>{0, 0}));
}

TEST(SumProduct, RefusesFactorsThatAreNone) {
    QuietContext context;
    Table table = table_with({2, -3}, {5, null_number}, context);
    const auto refused = [&](std::vector<int> columns, SemiringName semiring) {
        return caught([&] { table_factor(table, columns, semiring, context); });
    };
    const Caught negative = refused({0}, SemiringName::max_product);
    EXPECT_EQ(negative.code, ErrorCode::invalid_argument);
    EXPECT_EQ(negative.message, "max_product needs factors that are not negative, factor \"x\" has the value -3");
    EXPECT_EQ(negative.detail, "The maximum does not distribute over products of mixed sign.");
    EXPECT_FALSE(refused({0}, SemiringName::sum_product).thrown);
    const Caught null = refused({1}, SemiringName::sum_product);
    EXPECT_EQ(null.code, ErrorCode::null_value);
    EXPECT_EQ(null.message, "factor \"y\" is NULL");
    EXPECT_EQ(refused({2}, SemiringName::sum_product).message, "table \"t\" has no column number 2");
    EXPECT_EQ(refused({-1}, SemiringName::sum_product).message, "table \"t\" has no column number -1");
    table.columns[0].kind = DataColumn::Kind::category;
    const Caught category = refused({0}, SemiringName::sum_product);
    EXPECT_EQ(category.code, ErrorCode::wrong_type);
    EXPECT_EQ(category.message, "factor \"x\" is not a number");
}

TEST(SumProduct, RefusesFactorsOfAnotherShape) {
    QuietContext context;
    const Join join = columnar(PlainJoin{{{{}, {}, 2, {1.0, -1.0}}}, {}}, context);
    Factors factors;
    EXPECT_EQ(caught([&] { sum_product(join, factors, SemiringName::sum_product, context); }).message,
              "a query has factors for 0 tables, the join has 1");
    factors.emplace_back(context.memory(), "a test", 3, 1.0);
    EXPECT_EQ(caught([&] { sum_product_by_row(join, factors, SemiringName::sum_product, 0, context); }).message,
              "the factor of table \"t0\" has 3 values, the table has 2 rows");
    factors[0] = Buffer<double>(context.memory(), "a test", 2, -1.0);
    const Caught negative = caught([&] { sum_product(join, factors, SemiringName::max_product, context); });
    EXPECT_EQ(negative.code, ErrorCode::invalid_argument);
    EXPECT_EQ(negative.message,
              "max_product needs factors that are not negative, the factor of table \"t0\" has the value -1");
}

TEST(Counting, SaturatesBeyond2To53) {
    const uint64_t most = Counting::most, too_many = Counting::too_many;
    EXPECT_EQ(Counting::add(most, 0), most);
    EXPECT_EQ(Counting::add(most, 1), too_many);
    EXPECT_EQ(Counting::add(too_many, too_many), too_many);
    EXPECT_EQ(Counting::multiply(uint64_t{1} << 26, uint64_t{1} << 27), most);
    EXPECT_EQ(Counting::multiply(uint64_t{1} << 27, uint64_t{1} << 27), too_many);
    EXPECT_EQ(Counting::multiply(too_many, too_many), too_many);
    EXPECT_EQ(Counting::multiply(too_many, 0), 0U);
}

} // namespace
} // namespace btml::relational
