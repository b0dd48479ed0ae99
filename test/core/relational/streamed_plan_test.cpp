#include "streamed_join.hpp"

#include "caught.hpp"

#include "core/relational/streamed/plan.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;

std::vector<std::byte> written(const StreamedPlan& plan) {
    QuietContext context;
    Writer writer(context);
    plan.write(writer);
    return {writer.bytes().begin(), writer.bytes().end()};
}

StreamedPlan read(std::span<const std::byte> bytes) {
    Reader reader(bytes);
    StreamedPlan plan = StreamedPlan::read(reader);
    reader.finish();
    return plan;
}

TEST(StreamedPlan, ReadsWhatItWrote) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        const StreamedPlan plan = random_streamed_join(seed).plan;
        EXPECT_EQ(read(written(plan)), plan) << seed;
    }
}

TEST(StreamedPlan, RefusesBytesThatEndEarly) {
    const std::vector<std::byte> bytes = written(random_streamed_join(7).plan);
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { read(std::span(bytes).first(length)); }).code, ErrorCode::corrupt_model) << length;
}

// Whatever is read can be run.
TEST(StreamedPlan, HostileBytesAreRefusedOrRun) {
    int refused = 0, runs = 0;
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        Random random(seed);
        std::vector<std::byte> bytes = written(random_streamed_join(seed % 50).plan);
        for (int i = 1 + random.below(3); i > 0; i--)
            bytes[static_cast<size_t>(random.below(static_cast<int>(bytes.size())))] =
                static_cast<std::byte>(random.chance(0.5) ? random.below(4) : random.below(256));
        StreamedPlan plan;
        const Caught error = caught([&] { plan = read(bytes); });
        if (error.thrown) {
            EXPECT_EQ(error.code, ErrorCode::corrupt_model);
            refused++;
            continue;
        }
        StreamedJoinTest test;
        test.rows.resize(plan.tables.size());
        for (size_t t = 0; t < plan.tables.size(); t++)
            for (int row = 0; row < 3; row++)
                test.rows[t].emplace_back(plan.tables[t].columns.size(), decimal_value(row, row));
        std::vector<std::unique_ptr<VectorSource>> sources;
        std::vector<RowSource*> pointers;
        for (const Rows& rows : test.rows) {
            sources.push_back(std::make_unique<VectorSource>(rows, 2));
            pointers.push_back(sources.back().get());
        }
        QuietContext context;
        StreamedAggregate aggregate(plan, pointers, context);
        try {
            aggregate.run();
            EXPECT_GE(aggregate.groups() + plan.message_groups(plan.root()), 1U);
        } catch (const CannotDecide&) {
        }
        runs++;
    }
    EXPECT_GT(refused, 500);
    EXPECT_GT(runs, 100);
}

// A root with one child that has a number, and a query of their product.
StreamedPlan small_plan() {
    StreamedPlan plan;
    plan.tables.resize(2);
    StreamedTable& child = plan.tables[0];
    child.columns = {StreamedType::integer, StreamedType::number};
    child.key = {0};
    child.queries = {{}, {CellKind::number_sum, {1}, {}, {}, {}}};
    StreamedTable& root = plan.tables[1];
    root.columns = {StreamedType::integer, StreamedType::decimal};
    root.groups = {0};
    root.children = {{0, StreamedJoin::inner, {0}}};
    root.queries = {{CellKind::count, {}, {}, {}, {0}}, {CellKind::number_sum, {}, {1}, {0}, {1}}};
    return plan;
}

TEST(StreamedPlan, NamesTheFlaw) {
    EXPECT_EQ(flaw_of(small_plan()), nullptr);
    EXPECT_STREQ(flaw_of({}), "it has no tables");
    const auto flaw = [](auto change) {
        StreamedPlan plan = small_plan();
        change(plan);
        const char* found = flaw_of(plan);
        if (found) {
            const Caught error = caught([&] { read(written(plan)); });
            EXPECT_EQ(error.detail, format("Its plan of a streamed join is none: %s.", found));
        }
        return std::string(found ? found : "");
    };
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[0].key = {1}; }), "a key is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].groups = {1}; }), "a group is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].groups = {2}; }), "a group is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].measured = {-1}; }), "a measured column is none");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children[0].table = 1; }), "a child comes after its parent");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children[0].key = {1}; }),
              "a child's key is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children[0].key = {}; }), "a key has columns without partners");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[0].present = {0}; }),
              "the first query of a table counts no rows");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[0].queries = {}; }), "the first query of a table counts no rows");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[1].children = {}; }),
              "a query lacks the query of a child");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[1].children = {2}; }), "a child lacks a query");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children[0].join = StreamedJoin::semi; }),
              "a child that multiplies nothing has a query");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[1].kind = CellKind::integer_sum; }),
              "a child's query is of a kind that does not fit");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[0].queries[1].kind = CellKind::decimal_sum; }),
              "a factor is no column of its type");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[0].queries[1].factors = {2}; }), "a factor is no column of its type");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[0].queries[1] = {CellKind::number_max, {1, 1}, {}, {}, {}};
              }),
              "an extremum is not of one column");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[0].queries[1] = {CellKind::number_max, {}, {}, {}, {}};
              }),
              "an extremum is not of one column");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[0].queries[1] = {CellKind::count, {0}, {}, {}, {}};
              }),
              "a count has a factor");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[1].present = {9}; }),
              "a column that must not be null is none");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].queries[1].conditions = {1}; }),
              "a condition is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children.push_back(p.tables[1].children[0]); }),
              "a query lacks the query of a child");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[1].children.clear();
                  p.tables[1].queries = {{}};
              }),
              "a table but the last has not one parent");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].key = {0}; }), "the root has a key");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[1].children[0].order = KeyOrder::less; }),
              "a child that is in order has a sum of numbers");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[1].children[0].order = KeyOrder::less;
                  p.tables[1].children[0].key = p.tables[0].key = {};
              }),
              "nothing is compared with a child that is in order");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[1].children[0].order = KeyOrder::greater;
                  p.tables[0].groups = {0};
              }),
              "a child that is in order has groups");
    EXPECT_EQ(flaw([](StreamedPlan& p) {
                  p.tables[1].children[0].order = KeyOrder::less;
                  p.bags = {{0, {0}}};
              }),
              "the rows of a bag are in order");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.attributes.resize(2); }), "attributes are told of, but no bags");
}

} // namespace
} // namespace btml::relational
