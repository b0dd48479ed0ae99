// What a streamed aggregate refuses, and what it leaves unread.
#include "streamed_run.hpp"

#include "caught.hpp"
#include "core/relational/streamed/message.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::caught;
using btml::test::ImpatientContext;

constexpr const char* beyond = "a number beyond 128 bits";
constexpr int64_t big = int64_t{1} << 62;

// One table of columns of a type, and one query with all of them as its factors.
struct OneTable {
    OneTable(StreamedType type, CellKind kind, const Rows& rows) {
        StreamedTable& table = test.plan.tables.emplace_back();
        table.columns.assign(rows.front().size(), type);
        Aggregate aggregate;
        aggregate.kind = kind;
        for (size_t c = 0; c < table.columns.size(); c++) {
            aggregate.factors.emplace_back(0, static_cast<int>(c));
            table.measured.push_back(static_cast<int>(c));
        }
        test.aggregates = {aggregate};
        test.rows = {rows};
        QueryMaker{test};
        run = std::make_unique<Streamed>(test, context);
    }

    const char* refused() { return run->run(); }
    StreamedCell cell() {
        EXPECT_EQ(refused(), nullptr);
        return run->aggregate->cell(0, 1);
    }

    StreamedJoinTest test;
    QuietContext context;
    std::unique_ptr<Streamed> run;
};

std::vector<Value> integers(std::initializer_list<int64_t> values) {
    std::vector<Value> row;
    for (int64_t value : values) row.push_back(integer_value(value));
    return row;
}

OneTable integer_sum(const Rows& rows) {
    return {StreamedType::integer, CellKind::integer_sum, rows};
}
OneTable decimal(CellKind kind, const Rows& rows) {
    return {StreamedType::decimal, kind, rows};
}
OneTable number(CellKind kind, const std::vector<double>& values) {
    Rows rows;
    for (double value : values) rows.push_back({number_value(value)});
    return {StreamedType::number, kind, rows};
}

TEST(StreamedLimits, IntegersUpTo128Bits) {
    const WideInteger largest = static_cast<WideInteger>(big) * big;
    EXPECT_TRUE(integer_sum({integers({big, big, 1})}).cell().integer == largest);
    EXPECT_TRUE(integer_sum({integers({big, big, -4})}).cell().integer == -4 * largest);
    EXPECT_TRUE(integer_sum({integers({INT64_MIN, INT64_MIN, 1})}).cell().integer == 4 * largest);
    EXPECT_STREQ(integer_sum({integers({big, big, 8})}).refused(), beyond);
    EXPECT_STREQ(integer_sum({integers({big, big, -8})}).refused(), beyond);
    EXPECT_STREQ(integer_sum({integers({big, big, 4}), integers({big, big, 4})}).refused(), beyond);
    EXPECT_STREQ(integer_sum({integers({big, big, -4}), integers({big, big, -4})}).refused(), beyond);
    EXPECT_TRUE(integer_sum({integers({big, big, 4}), integers({big, big, -4})}).cell().integer == 0);
}

TEST(StreamedLimits, DecimalsOfManyScales) {
    const WideInteger power36 = static_cast<WideInteger>(1'000'000'000'000'000'000) * 1'000'000'000'000'000'000;
    EXPECT_STREQ(decimal(CellKind::decimal_sum, {{decimal_value(power36, 0)}, {decimal_value(1, 3)}}).refused(),
                 beyond);
    EXPECT_STREQ(decimal(CellKind::decimal_sum, {{decimal_value(power36, 0), decimal_value(1000, 0)}}).refused(),
                 beyond);
    const StreamedCell sum = decimal(CellKind::decimal_sum, {{decimal_value(15, 1)}, {decimal_value(-150, 2)}}).cell();
    EXPECT_TRUE(sum.integer == 0 && sum.scale == 2 && !sum.absent);
    const StreamedCell product = decimal(CellKind::decimal_sum, {{decimal_value(15, 1), decimal_value(-2, 2)}}).cell();
    EXPECT_TRUE(product.integer == -30 && product.scale == 3);
    // Extrema are compared where no common scale holds both.
    const Rows far = {{decimal_value(power36, 0)}, {decimal_value(1, 30)}, {decimal_value(-power36, 0)}};
    EXPECT_TRUE(decimal(CellKind::decimal_max, far).cell().integer == power36);
    EXPECT_TRUE(decimal(CellKind::decimal_min, far).cell().integer == -power36);
    // Values that are equal and then beaten decide nothing.
    const Rows beaten = {{decimal_value(10, 1)}, {decimal_value(1, 0)}, {decimal_value(2, 0)}};
    EXPECT_TRUE(decimal(CellKind::decimal_max, beaten).cell().integer == 2);
    EXPECT_STREQ(decimal(CellKind::decimal_min, beaten).refused(), "equal extrema that are written differently");
}

TEST(StreamedLimits, ScalesOfProducts) {
    const auto sum = [](const Value& a, const Value& b) {
        return decimal(CellKind::decimal_sum, {std::vector<Value>{a, b}});
    };
    const StreamedCell cell = sum(decimal_value(2, RowBatch::max_scale - 1), decimal_value(3, 1)).cell();
    EXPECT_TRUE(cell.integer == 6 && cell.scale == RowBatch::max_scale);
    EXPECT_STREQ(sum(decimal_value(2, RowBatch::max_scale), decimal_value(3, 1)).refused(),
                 "a product with too many digits after the point");
}

TEST(StreamedLimits, MaximaOfProducts) {
    const auto row = [](std::initializer_list<Value> values) { return std::vector<Value>(values); };
    const auto product = [](const Rows& rows) { return decimal(CellKind::decimal_max_product, rows); };
    const Rows rows = {row({decimal_value(15, 1), decimal_value(20, 1)}),
                       row({decimal_value(0, 0), decimal_value(900, 2)}),
                       row({decimal_value(1, 0), decimal_value(25, 1)})};
    const StreamedCell cell = product(rows).cell();
    EXPECT_TRUE(cell.integer == 300 && cell.scale == 2 && !cell.absent);
    EXPECT_STREQ(product({row({decimal_value(2, 0), decimal_value(-1, 1)}), rows[0]}).refused(),
                 "a maximum of products with a negative factor");
    EXPECT_STREQ(product({row({decimal_value(0, 0), decimal_value(3, 0)})}).refused(),
                 "equal extrema that are written differently");
    EXPECT_STREQ(product({rows[0], row({decimal_value(3, 0), decimal_value(1, 0)})}).refused(),
                 "equal extrema that are written differently");
    EXPECT_TRUE(product({row({null_value(), decimal_value(3, 0)})}).cell().absent);
}

TEST(StreamedLimits, NumbersThatAreNotFinite) {
    constexpr double infinite = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const char* const not_finite_ = "a number that is not finite";
    EXPECT_STREQ(number(CellKind::number_sum, {1, infinite}).refused(), not_finite_);
    EXPECT_STREQ(number(CellKind::number_sum, {1, nan}).refused(), not_finite_);
    EXPECT_STREQ(number(CellKind::number_sum, {1, null_number}).refused(), not_finite_);
    EXPECT_STREQ(number(CellKind::number_sum, {1e308, 1e308}).refused(), not_finite_);
    EXPECT_STREQ(number(CellKind::number_min, {1, nan}).refused(), not_finite_);
    EXPECT_EQ(number(CellKind::number_max, {1, infinite}).cell().number, infinite);
    EXPECT_EQ(number(CellKind::number_min, {-infinite, 0.0, -0.0}).cell().number, -infinite);
    EXPECT_STREQ(number(CellKind::number_min, {1, 0.0, -0.0}).refused(), "equal extrema that are written differently");
    EXPECT_TRUE(std::signbit(number(CellKind::number_max, {-1, -0.0, -0.0}).cell().number));
    EXPECT_TRUE(std::signbit(number(CellKind::number_sum, {-0.0, -0.0}).cell().number));
    EXPECT_FALSE(std::signbit(number(CellKind::number_sum, {-0.0, 0.0}).cell().number));
}

TEST(StreamedLimits, RangesAreOnTheSafeSide) {
    OneTable integer = integer_sum({integers({INT64_MIN}), integers({3}), integers({0}), {null_value()}});
    EXPECT_EQ(integer.refused(), nullptr);
    const StreamedRange range = integer.run->aggregate->report(0).ranges[0];
    EXPECT_GE(range.max_abs, 9223372036854775808.0);
    EXPECT_LE(range.max_abs, 9223372036854780000.0);
    EXPECT_EQ(range.min_abs, 3);
    OneTable numbers = number(CellKind::number_max, {2, -std::numeric_limits<double>::infinity(), -0.5});
    EXPECT_EQ(numbers.refused(), nullptr);
    EXPECT_FALSE(numbers.run->aggregate->report(0).ranges[0].finite);
    EXPECT_EQ(numbers.run->aggregate->report(0).ranges[0].max_abs, 2);
    EXPECT_EQ(numbers.run->aggregate->report(0).ranges[0].min_abs, 0.5);
    OneTable tiny = decimal(CellKind::decimal_sum, {{decimal_value(1, RowBatch::max_scale)}});
    EXPECT_EQ(tiny.refused(), nullptr);
    EXPECT_GT(tiny.run->aggregate->report(0).ranges[0].min_abs, 0);
    EXPECT_LT(tiny.run->aggregate->report(0).ranges[0].min_abs, 1e-300);
}

// Whoever knows from the first rows that the result is of no use reads no further.
TEST(StreamedLimits, RangesEndARunEarly) {
    OneTable table = integer_sum(Rows(3 * RowBatch::max_rows, integers({7})));
    int batches = 0;
    const auto widened = [&] {
        EXPECT_EQ(table.run->aggregate->report(0).ranges[0].max_abs, 7);
        if (++batches == 2) throw CannotDecide{"wide"};
    };
    EXPECT_THROW(table.run->aggregate->run(widened), CannotDecide);
    EXPECT_EQ(batches, 2);
    EXPECT_EQ(table.context.memory().used(), 0U);
}

// Two children of a root, joined by column 0 of each; the first comes first.
StreamedJoinTest two_children(StreamedJoin join, size_t first_rows, size_t rows) {
    StreamedJoinTest test;
    test.plan.tables.resize(3);
    for (StreamedTable& table : test.plan.tables) table.columns = {StreamedType::integer};
    test.plan.tables[0].key = test.plan.tables[1].key = {0};
    test.plan.tables[2].children = {{0, join, {0}}, {1, StreamedJoin::inner, {0}}};
    test.aggregates = {{}};
    for (size_t count : {first_rows, rows, rows}) {
        Rows& of = test.rows.emplace_back();
        for (size_t row = 0; row < count; row++) of.push_back({integer_value(static_cast<int64_t>(row))});
    }
    QueryMaker{test};
    return test;
}

TEST(StreamedLimits, NothingIsReadInVain) {
    QuietContext context;
    for (StreamedJoin join : {StreamedJoin::inner, StreamedJoin::semi, StreamedJoin::left, StreamedJoin::anti}) {
        const StreamedJoinTest test = two_children(join, 0, 10);
        Streamed run(test, context);
        EXPECT_EQ(run.run(), nullptr);
        const bool needed = join == StreamedJoin::left || join == StreamedJoin::anti;
        EXPECT_EQ(run.aggregate->report(1).rows_read, needed ? 10U : 0U);
        EXPECT_EQ(run.aggregate->report(2).rows_read, needed ? 10U : 0U);
        ASSERT_EQ(run.aggregate->groups(), 1U);
        EXPECT_TRUE(run.aggregate->cell(0, 0).integer == (needed ? 10 : 0));
        EXPECT_EQ(run.aggregate->cell(0, 1).absent, !needed);
    }
}

// The keys of a message are handed to the tables that are read after it; rows that have none of them leave no trace,
// unless they are so many that looking does not pay.
TEST(StreamedLimits, KeysAreHandedOn) {
    QuietContext context;
    for (StreamedJoin join : {StreamedJoin::inner, StreamedJoin::semi, StreamedJoin::left, StreamedJoin::anti}) {
        const bool needed = join == StreamedJoin::inner || join == StreamedJoin::semi;
        const StreamedJoinTest few = two_children(join, 3, 100'000);
        Streamed run(few, context);
        EXPECT_EQ(run.run(), nullptr);
        EXPECT_EQ(run.aggregate->report(1).rows_read, 100'000U);
        EXPECT_EQ(run.aggregate->report(1).rows_kept, needed ? 3U : 100'000U);
        EXPECT_EQ(run.aggregate->report(1).keys, needed ? 3U : 100'000U);
    }
    StreamedJoinTest most = two_children(StreamedJoin::inner, 30'000, 100'000);
    Streamed run(most, context);
    EXPECT_EQ(run.run(), nullptr);
    EXPECT_GT(run.aggregate->report(1).rows_kept, 30'000U);
    EXPECT_TRUE(run.aggregate->cell(0, 0).integer == 30'000);
}

TEST(StreamedLimits, MemoryThatLacksIsAReason) {
    const StreamedJoinTest test = two_children(StreamedJoin::inner, 20'000, 20'000);
    for (uint64_t limit = 0; limit < 4'000'000; limit += 100'000) {
        QuietContext context(1, limit);
        Streamed run(test, context);
        if (const char* reason = run.run()) {
            EXPECT_LT(limit, 3'000'000U);
            EXPECT_STREQ(reason, "more memory than is allowed");
            EXPECT_EQ(context.memory().used(), 0U);
        } else {
            EXPECT_GT(limit, 1'000'000U);
            EXPECT_TRUE(run.aggregate->cell(0, 0).integer == 20'000);
            EXPECT_LT(context.memory().used(), 10'000U); // messages are given back once they are read
        }
    }
}

// A message of so many entries, within the limit; they have keys of their own, and each comes so often.
void fill_message(const MessageLayout& layout, uint32_t entries, uint32_t times, uint64_t limit) {
    QuietContext context(1, limit), other;
    Message message(layout, context.memory());
    KeyBatch keys(layout.key_words, other.memory());
    std::array<uint64_t*, RowBatch::max_rows> to;
    const uint32_t rows = entries * times;
    for (uint32_t begin = 0; begin < rows; begin += keys.count) {
        keys.count = std::min(rows - begin, RowBatch::max_rows);
        for (uint32_t i = 0; i < keys.count; i++) keys.key(i)[0] = (begin + i) % entries;
        keys.hash();
        message.find_or_add(keys, to.data(), context);
    }
    EXPECT_EQ(message.entries(), entries);
}

TEST(StreamedLimits, MessagesTakeWhatIsExpected) {
    const StreamedJoinTest test = two_children(StreamedJoin::inner, 1, 1);
    const MessageLayout layout(test.plan, 0);
    ASSERT_EQ(layout.full_key_words(), 1U);
    for (uint32_t entries : {100, 129, 1024, 1025, 3000, 8191, 8193, 16'385, 20'000, 32'768, 33'000, 65'537, 200'000}) {
        const auto bytes = static_cast<uint64_t>(Message::max_bytes(layout.words, entries, entries));
        fill_message(layout, entries, 1, bytes);
        EXPECT_TRUE(caught([&] { fill_message(layout, entries, 1, bytes / 4 * 3); }).thrown) << entries;
        fill_message(layout, entries, 3,
                     static_cast<uint64_t>(Message::max_bytes(layout.words, entries, 3.0 * entries)));
    }
}

TEST(StreamedLimits, CancelledOften) {
    const StreamedJoinTest test = two_children(StreamedJoin::inner, 100'000, 100'000);
    ImpatientContext patient;
    EXPECT_EQ(Streamed(test, patient).run(), nullptr);
    EXPECT_GE(patient.polls, 5U); // 300,000 rows
    for (uint64_t patience = 0; patience < patient.polls; patience++) {
        ImpatientContext context(patience);
        Streamed run(test, context);
        EXPECT_THROW(run.run(), Cancelled);
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

// A few rows that meet all groups of another table are as much work as their combinations.
TEST(StreamedLimits, CancelledAmongTheMatchesOfOneBatch) {
    StreamedJoinTest test = two_children(StreamedJoin::inner, 1'000, 1);
    test.plan.tables[0].key.clear();
    test.plan.tables[0].groups = {0};
    test.plan.tables[2].children[0].key.clear();
    test.rows[2].assign(1'000, {integer_value(0)});
    ImpatientContext patient;
    Streamed run(test, patient);
    EXPECT_EQ(run.run(), nullptr);
    EXPECT_EQ(run.aggregate->groups(), 1'000U);
    EXPECT_TRUE(run.aggregate->cell(999, 0).integer == 1'000);
    EXPECT_GE(patient.polls, 10U);
    ImpatientContext impatient(patient.polls / 2);
    EXPECT_THROW(Streamed(test, impatient).run(), Cancelled);
}

// What a source throws is nobody else's.
class FailingSource : public RowSource {
  public:
    void next(RowBatch&) override { throw Error(ErrorCode::null_value, "the table is gone"); }
};

TEST(StreamedLimits, ErrorsOfSourcesPass) {
    const StreamedJoinTest test = two_children(StreamedJoin::inner, 1, 1);
    QuietContext context;
    FailingSource failing;
    StreamedAggregate aggregate(test.plan, {&failing, &failing, &failing}, context);
    EXPECT_EQ(caught([&] { aggregate.run(); }).message, "the table is gone");
}

} // namespace
} // namespace btml::relational
