#include "core/relational/queries/tensor_sketch.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include "core/relational/queries/sketch_hash.hpp"
#include "core/relational/queries/sketch_size.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

// A product of factors, one number for each row of the join as it is after reduction.
struct TestVector {
    explicit TestVector(size_t tables) {
        for (size_t t = 0; t < tables; t++) factors.emplace_back(context->memory(), "factors");
    }
    double value(const std::vector<uint64_t>& rows) const {
        double product = 1;
        for (size_t t = 0; t < rows.size(); t++)
            if (!factors[t].empty()) product *= factors[t][rows[t]];
        return product;
    }

    std::unique_ptr<QuietContext> context = std::make_unique<QuietContext>();
    Factors factors; // none: all 1
};

TestVector random_vector(const Join& join, Random& random) {
    TestVector vector(static_cast<size_t>(join.relations()));
    for (size_t t = 0; t < vector.factors.size(); t++) {
        if (random.chance(0.3)) continue;
        for (uint64_t row = 0; row < join.tables()[t].rows; row++)
            vector.factors[t].push_back(0.5 * (random.below(9) - 4));
    }
    return vector;
}

// Tuples of row numbers after reduction.
std::vector<std::vector<uint64_t>> joined_rows(const Join& join, const PlainJoin& plain) {
    std::vector<std::map<int, uint64_t>> row_of(join.tables().size());
    for (size_t t = 0; t < row_of.size(); t++)
        for (uint64_t row = 0; row < join.tables()[t].rows; row++)
            row_of[t][original_row(join, static_cast<int>(t), row)] = row;
    std::vector<std::vector<uint64_t>> rows;
    for (const Tuple& tuple : brute_force(plain)) {
        rows.emplace_back();
        for (size_t t = 0; t < tuple.size(); t++) rows.back().push_back(row_of[t].at(tuple[t]));
    }
    return rows;
}

double squares(const std::vector<double>& numbers) {
    double sum = 0;
    for (double number : numbers) sum += number * number;
    return sum;
}

// The sketch by its definition, in the time domain, of rows that go by their contents, or else by their numbers.
double explicit_norm(const Join& join, const std::vector<std::vector<uint64_t>>& rows, const TestVector& vector,
                     uint32_t size, uint64_t seed) {
    std::vector<double> sketch(size, 0.0);
    for (const std::vector<uint64_t>& row : rows) {
        uint64_t bucket = 0;
        bool negative = false;
        for (size_t t = 0; t < row.size(); t++) {
            const SketchHash hash(seed, t);
            const std::optional<Buffer<uint64_t>>& content = join.tables()[t].content;
            const uint64_t name = content ? (*content)[row[t]] : row[t];
            bucket += hash.bucket(name, size);
            negative ^= hash.is_negative(name);
        }
        sketch[bucket % size] += negative ? -vector.value(row) : vector.value(row);
    }
    return squares(sketch);
}

void expect_close(double actual, double expected) {
    EXPECT_NEAR(actual, expected, 1e-9 * std::max(1.0, std::abs(expected)));
}

void expect_sketch(const Join& join, const PlainJoin& plain, const TestVector& vector, uint32_t size, uint64_t seed,
                   RunContext& context) {
    const auto rows = joined_rows(join, plain);
    TensorSketch sketch(join, size, seed, context);
    expect_close(sketch.squared_norm(vector.factors), explicit_norm(join, rows, vector, size, seed));
}

TEST(TensorSketch, EqualsTheSketchOfTheMaterialisedJoin) {
    constexpr uint32_t sizes[] = {1, 2, 3, 14, 15, 16, 17, 64, 101};
    for (uint64_t seed = 0; seed < 150; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context(1 + static_cast<int>(seed % 3));
        PlainJoin plain = random_join(seed + 70'000, {.max_tables = 5, .max_rows = 7});
        for (PlainTable& table : plain.tables)
            for (int row = 0; row < table.rows && seed % 2; row++)
                table.content.push_back(random_bits(seed, 9, static_cast<uint64_t>(row)));
        const Join join = columnar(plain, context);
        Random random(seed);
        const TestVector vector = random_vector(join, random);
        expect_sketch(join, plain, vector, sizes[seed % std::size(sizes)], seed, context);
        if (HasFailure()) return;
    }
}

// A fact table with keys of two dimension tables; `shares` rows of each are alike.
PlainJoin star(int facts, int first, int second) {
    PlainJoin plain;
    PlainTable fact{{0, 1}, {Column(), Column()}, facts, {}};
    for (int row = 0; row < facts; row++) {
        fact.keys[0].push_back(static_cast<Key>(row % first));
        fact.keys[1].push_back(static_cast<Key>(row / first % second));
        fact.factors.push_back(1);
    }
    plain.tables.push_back(fact);
    for (int t = 0; t < 2; t++) {
        const int rows = t == 0 ? first : second;
        PlainTable dimension{{t}, {Column()}, rows, std::vector<double>(static_cast<size_t>(rows), 1)};
        for (int row = 0; row < rows; row++) dimension.keys[0].push_back(static_cast<Key>(row));
        plain.tables.push_back(dimension);
    }
    return plain;
}

// Rows with equal keys are transformed together once they are many.
TEST(TensorSketch, GroupsOfManyRowsAreTransformedAtOnce) {
    const PlainJoin plain = star(900, 3, 2);
    for (uint32_t size : {7U, 64U, 97U, 250U}) {
        QuietContext context(2);
        const Join join = columnar(plain, context);
        Random random(size);
        expect_sketch(join, plain, random_vector(join, random), size, 5, context);
    }
}

// 900 rows with six combinations of keys; transforms of all of them take 6 · 16 kB, and making one takes far more.
TEST(TensorSketch, TransformsFitTheMemory) {
    const PlainJoin plain = star(900, 3, 2);
    QuietContext roomy(1);
    const Join join = columnar(plain, roomy);
    Random random(1);
    const TestVector vector = random_vector(join, random);
    const double expected = TensorSketch(join, 2'000, 5, roomy).squared_norm(vector.factors);
    QuietContext tight(1, 8'600'000), tiny(1, 200'000);
    expect_close(TensorSketch(join, 2'000, 5, tight).squared_norm(vector.factors), expected);
    const Caught error = caught([&] { TensorSketch(join, 2'000, 5, tiny).squared_norm(vector.factors); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_EQ(tiny.memory().used(), 0U);
}

TEST(TensorSketch, EqualBytesOnAnyNumberOfThreads) {
    const PlainJoin plain = star(400, 7, 5);
    double first = 0;
    for (int threads : {1, 2, 3, 5}) {
        QuietContext context(threads);
        const Join join = columnar(plain, context);
        Random random(9);
        const TestVector vector = random_vector(join, random);
        const double norm = TensorSketch(join, 301, 1, context).squared_norm(vector.factors);
        if (threads == 1) first = norm;
        EXPECT_EQ(norm, first) << threads;
    }
}

TEST(TensorSketch, OfAnEmptyJoinIsZero) {
    QuietContext context;
    const PlainJoin plain = star(0, 2, 2);
    const Join join = columnar(plain, context);
    const TestVector vector(3);
    EXPECT_EQ(TensorSketch(join, 50, 1, context).squared_norm(vector.factors), 0);
}

struct Errors {
    double rms;            // relative
    double beyond_epsilon; // share of the seeds
};

// The relative errors of sketches of Σ r² over many seeds.
Errors errors_over_seeds(const PlainJoin& plain, const TestVector& vector, uint32_t size, double epsilon, int seeds) {
    QuietContext context(1);
    const Join join = columnar(plain, context);
    std::vector<double> numbers;
    for (const auto& row : joined_rows(join, plain)) numbers.push_back(vector.value(row));
    const double exact = squares(numbers);
    double sum = 0, beyond = 0;
    for (int seed = 0; seed < seeds; seed++) {
        const double error =
            TensorSketch(join, size, static_cast<uint64_t>(seed), context).squared_norm(vector.factors) / exact - 1;
        sum += error * error;
        beyond += std::abs(error) > epsilon;
    }
    return {std::sqrt(sum / seeds), beyond / seeds};
}

// One table of `rows` rows with the numbers given, joined to others without a condition; every row twice if asked.
PlainJoin product(const std::vector<int>& rows) {
    PlainJoin plain;
    for (int count : rows) plain.tables.push_back({{}, {}, count, std::vector<double>(static_cast<size_t>(count), 1)});
    return plain;
}

// r varies freely over the tuples: a fact table with a number of its own in each row, and two dimension tables.
TEST(TensorSketch, ErrorWhereResidualsVaryFreely) {
    constexpr uint32_t size = 290;
    const PlainJoin plain = star(300, 12, 9);
    Random random(3);
    TestVector vector(3);
    for (int row = 0; row < 300; row++) vector.factors[0].push_back(random.below(2001) - 1000);
    const Errors errors = errors_over_seeds(plain, vector, size, 0.2, 400);
    EXPECT_LE(errors.rms, 1.1 * std::sqrt(2.0 / size));
    EXPECT_GE(errors.rms, 0.8 * std::sqrt(2.0 / size)); // it is not exact by accident
    EXPECT_LE(errors.beyond_epsilon, sketch_relative_sd(size, 3) * sketch_relative_sd(size, 3) / (0.2 * 0.2));
}

// The promise: with k = ⌈(2 + 3^τ)/(ε²δ)⌉ at most a share δ of the seeds is off by more than ε, for any residuals.
TEST(TensorSketch, ErrorIsWithinThePromise) {
    constexpr double epsilon = 0.3, delta = 0.2;
    struct Case {
        const char* name;
        PlainJoin plain;
        bool one_table; // r depends on one table only: the bad case
    };
    // Sixteen equal rows of one table stand for duplicates.
    const Case cases[] = {{"free", star(200, 10, 8), false},
                          {"one table of two", product({20, 20}), true},
                          {"one table of three", product({12, 12, 12}), true},
                          {"duplicates", product({16, 30}), false}};
    for (const Case& test : cases) {
        SCOPED_TRACE(test.name);
        const int tables = static_cast<int>(test.plain.tables.size());
        const auto size = static_cast<uint32_t>(sketch_size(epsilon, delta, tables));
        Random random(11);
        TestVector vector(test.plain.tables.size());
        const size_t varying = test.one_table ? 0 : test.plain.tables.size() - 1;
        for (int row = 0; row < test.plain.tables[varying].rows; row++)
            vector.factors[varying].push_back(random.below(2001) - 1000);
        const Errors errors = errors_over_seeds(test.plain, vector, size, epsilon, 200);
        EXPECT_LE(errors.beyond_epsilon, delta);
        EXPECT_LE(errors.rms, sketch_relative_sd(size, tables));
    }
}

TEST(TensorSketch, Errors) {
    QuietContext context;
    const Join join = columnar(star(10, 2, 2), context);
    const Caught too_large = caught([&] { TensorSketch(join, uint64_t{1} << 31, 1, context); });
    EXPECT_EQ(too_large.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(too_large.message, "the sketch would have 2147483648 numbers, the most is 2147483647");
    EXPECT_EQ(too_large.hint, "Raise epsilon or delta, or give a sketch_size.");
    EXPECT_EQ(caught([&] { TensorSketch(join, 0, 1, context); }).code, ErrorCode::internal);
    const TestVector vector(3);
    QuietContext tight(1, 100'000);
    EXPECT_EQ(caught([&] { TensorSketch(join, 10'000, 1, tight); }).code, ErrorCode::memory_limit);
    QuietContext less_tight(1, 1'000'000);
    EXPECT_EQ(caught([&] { TensorSketch(join, 10'000, 1, less_tight).squared_norm(vector.factors); }).code,
              ErrorCode::memory_limit);
    EXPECT_EQ(tight.memory().used(), 0U);
    EXPECT_EQ(less_tight.memory().used(), 0U);
}

TEST(TensorSketch, CanBeCancelledAnywhere) {
    QuietContext quiet;
    const Join join = columnar(star(900, 3, 30), quiet);
    const TestVector vector(3);
    int cancelled = 0;
    for (uint64_t polls = 0; polls < 60; polls++) {
        ImpatientContext context(polls);
        try {
            TensorSketch(join, 500, 1, context).squared_norm(vector.factors);
        } catch (const Cancelled&) {
            cancelled++;
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(cancelled, 10);
}

} // namespace
} // namespace btml::relational
