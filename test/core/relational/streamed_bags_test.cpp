// Cyclic joins: bags are joined from the tables that are held.
#include "streamed_run.hpp"

#include "caught.hpp"

#include "core/relational/streamed/join_decomposition.hpp"
#include "core/relational/streamed/plan.hpp"

#include <Eigen/Dense>
#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::ImpatientContext;

struct CyclicShape {
    int tables = 5, attributes = 4, rows = 10, domain = 3;
    double null = 0.05, groups = 0.2, left_join = 0.3;
};

// A random natural join with integers, numbers and decimals beside its attributes. Some tables hang on others by keys
// that no bag knows of.
class CyclicJoinMaker {
  public:
    CyclicJoinMaker(uint64_t seed, const CyclicShape& shape) : random_(seed), shape_(shape) {
        const int count = 3 + random_.below(shape.tables - 2);
        for (int t = 0; t < count; t++) {
            std::set<int> of;
            for (int i = 2 + random_.below(8) / 7; i > 0; i--) of.insert(random_.below(shape.attributes));
            attributes.emplace_back(of.begin(), of.end());
            sizes.push_back(random_.chance(0.02) ? 0 : 1 + random_.below(shape.rows));
        }
        make_tree();
        const int nodes = static_cast<int>(made_.size()); // with the bags
        for (int t = 0; t < nodes; t++)
            if (random_.chance(shape.left_join)) hang_table(t);
        order_tables();
        add_aggregates();
        QueryMaker{test};
    }

    // The rows of the join without bags: by table in the plan's order.
    std::vector<std::vector<int>> joined() const {
        std::vector<std::vector<int>> rows;
        std::vector<int> row(test.plan.tables.size(), -1);
        std::map<int, int64_t> values;
        extend(0, row, values, rows);
        return rows;
    }

    StreamedJoinTest test;
    std::vector<std::vector<int>> attributes; // of the tables of the natural join
    std::vector<double> sizes;

  private:
    struct Made {
        StreamedTable table;
        Rows rows;
        int parent = -1;
        StreamedJoin join = StreamedJoin::inner;
        std::vector<int> parent_key;
        std::vector<int> attributes; // its first columns
        bool bag = false;
    };

    Value draw(StreamedType type, bool key) {
        if (random_.chance(shape_.null)) return null_value();
        if (key) return integer_value(random_.below(shape_.domain) * 1'000'000'007LL);
        const int value = random_.below(7) - 3;
        if (type == StreamedType::number) return number_value(0.5 * value);
        return type == StreamedType::decimal ? decimal_value(value, random_.below(3)) : integer_value(value);
    }

    void fill(Made& made, int keys, int rows) {
        made.table.columns.assign(keys, StreamedType::integer);
        for (StreamedType type : {StreamedType::integer, StreamedType::number, StreamedType::decimal})
            made.table.columns.push_back(type);
        if (random_.chance(shape_.groups)) made.table.groups = {keys};
        if (keys > 0 && random_.chance(shape_.groups)) made.table.groups.push_back(random_.below(keys));
        for (int row = 0; row < rows; row++) {
            std::vector<Value>& values = made.rows.emplace_back();
            for (size_t c = 0; c < made.table.columns.size(); c++)
                values.push_back(draw(made.table.columns[c], static_cast<int>(c) < keys));
        }
    }

    static std::vector<int> columns_of(const std::vector<int>& attributes, const std::vector<int>& of) {
        std::vector<int> columns;
        for (int attribute : of)
            columns.push_back(
                static_cast<int>(std::find(attributes.begin(), attributes.end(), attribute) - attributes.begin()));
        return columns;
    }

    void make_tree() {
        QuietContext context;
        const int root = random_.below(static_cast<int>(attributes.size()) + 1) - 1;
        const JoinDecomposition found = decompose_join(attributes, sizes, root, context);
        made_.resize(found.nodes.size());
        for (size_t t = 0; t < made_.size(); t++) {
            Made& made = made_[t];
            made.bag = t >= attributes.size();
            made.attributes = made.bag ? found.bags[t - attributes.size()] : attributes[t];
            if (made.bag)
                made.table.columns.assign(made.attributes.size(), StreamedType::integer);
            else
                fill(made, static_cast<int>(made.attributes.size()), static_cast<int>(sizes[t]));
            made.table.held = !made.bag && !found.bags.empty();
            made.parent = found.nodes[t].parent;
            made.table.key = columns_of(made.attributes, found.nodes[t].separator);
        }
        for (size_t t = 0; t < made_.size(); t++)
            if (made_[t].parent >= 0)
                made_[t].parent_key = columns_of(made_[made_[t].parent].attributes, found.nodes[t].separator);
        order_ = found.order;
    }

    // One more table, that the parent's column of integers leads to, or the first attribute of a bag.
    void hang_table(int parent) {
        Made made;
        fill(made, 1, random_.below(6));
        made.table.key = {0};
        made.parent = parent;
        made.join = static_cast<StreamedJoin>(random_.below(4));
        if (made.join == StreamedJoin::semi || made.join == StreamedJoin::anti) made.table.groups.clear();
        const bool of_bag = made_[parent].bag;
        made.parent_key = {of_bag ? 0 : static_cast<int>(made_[parent].attributes.size())};
        for (std::vector<Value>& row : made.rows)
            if (!row[0].null && !of_bag) row[0] = integer_value(random_.below(3) - 1);
        order_.insert(order_.begin(), static_cast<int>(made_.size()));
        made_.push_back(std::move(made));
    }

    void order_tables() {
        std::vector<int> place(made_.size());
        for (size_t i = 0; i < order_.size(); i++) place[order_[i]] = static_cast<int>(i);
        const bool cyclic = std::any_of(made_.begin(), made_.end(), [](const Made& made) { return made.bag; });
        for (int number : order_) {
            const Made& made = made_[number];
            test.plan.tables.push_back(made.table);
            test.rows.push_back(made.rows);
            if (!cyclic) continue;
            auto& pairs = test.plan.attributes.emplace_back();
            for (size_t c = 0; c < made.attributes.size() && !made.bag; c++)
                pairs.emplace_back(static_cast<int>(c), made.attributes[c]);
            if (made.bag) test.plan.bags.push_back({place[number], made.attributes});
        }
        for (int number : order_)
            if (made_[number].parent >= 0)
                test.plan.tables[place[made_[number].parent]].children.push_back(
                    {place[number], made_[number].join, made_[number].parent_key});
    }

    void add_aggregates() {
        std::vector<int> tables; // whose columns aggregates may speak of
        for (size_t i = 0; i < order_.size(); i++) {
            const Made& made = made_[order_[i]];
            if (!made.bag && made.join != StreamedJoin::semi && made.join != StreamedJoin::anti)
                tables.push_back(static_cast<int>(i));
        }
        for (int i = 1 + random_.below(5); i > 0; i--) {
            Aggregate& aggregate = test.aggregates.emplace_back();
            aggregate.kind = static_cast<CellKind>(random_.below(10));
            const int type = is_integer(aggregate.kind) ? 0 : is_number(aggregate.kind) ? 1 : 2;
            int factors = aggregate.kind == CellKind::count ? 0
                          : is_extremum(aggregate.kind)     ? 1
                                                            : 1 + random_.below(3);
            for (; factors > 0; factors--) aggregate.factors.push_back(column(tables, type));
            if (random_.chance(0.2)) aggregate.present.push_back(column(tables, 2));
            if (random_.chance(0.2)) aggregate.conditions.push_back(column(tables, 0));
        }
    }

    std::pair<int, int> column(const std::vector<int>& tables, int type) {
        const int table = tables[static_cast<size_t>(random_.below(static_cast<int>(tables.size())))];
        return {table, static_cast<int>(test.plan.tables[table].columns.size()) - 3 + type};
    }

    // Chooses the rows of the tables from this place in the plan's order on.
    void extend(size_t place, std::vector<int>& row, const std::map<int, int64_t>& values,
                std::vector<std::vector<int>>& rows) const {
        if (place == order_.size()) {
            add_hanging(row, rows);
            return;
        }
        const Made& made = made_[order_[place]];
        if (made.bag || order_[place] >= static_cast<int>(attributes.size() + test.plan.bags.size())) {
            extend(place + 1, row, values, rows);
            return;
        }
        for (size_t r = 0; r < made.rows.size(); r++) {
            std::map<int, int64_t> with = values;
            bool joins = true;
            for (size_t c = 0; c < made.attributes.size(); c++) {
                // An attribute of one table only joins nothing, and may be NULL.
                if (tables_with(made.attributes[c]) < 2) continue;
                const Value& value = made.rows[r][c];
                joins &= !value.null && with.try_emplace(made.attributes[c], value.word).first->second == value.word;
            }
            row[place] = static_cast<int>(r);
            if (joins) extend(place + 1, row, with, rows);
        }
        row[place] = -1;
    }

    int tables_with(int attribute) const {
        return static_cast<int>(std::count_if(attributes.begin(), attributes.end(), [&](const std::vector<int>& of) {
            return std::find(of.begin(), of.end(), attribute) != of.end();
        }));
    }

    // Bags have the values of the tables that have their attributes.
    const Value& value_at(int node, int column, const std::vector<int>& row) const {
        for (size_t place = 0; place < order_.size(); place++) {
            const Made& made = made_[order_[place]];
            if (order_[place] == node && !made.bag) return made.rows[row[place]][column];
            const auto at = std::find(made.attributes.begin(), made.attributes.end(), made_[node].attributes[0]);
            if (made_[node].bag && !made.bag && at != made.attributes.end())
                return made.rows[row[place]][at - made.attributes.begin()];
        }
        throw Error(ErrorCode::internal, "a bag's attribute is in no table");
    }

    void add_hanging(const std::vector<int>& row, std::vector<std::vector<int>>& rows) const {
        std::vector<std::vector<int>> all{row};
        for (size_t place = 0; place < order_.size(); place++) {
            const Made& made = made_[order_[place]];
            if (order_[place] < static_cast<int>(attributes.size() + test.plan.bags.size())) continue;
            const Value key = value_at(made.parent, made.parent_key[0], row);
            std::vector<int> partners;
            for (size_t r = 0; r < made.rows.size(); r++)
                if (!key.null && !made.rows[r][0].null && made.rows[r][0].word == key.word)
                    partners.push_back(static_cast<int>(r));
            const bool stays = made.join == StreamedJoin::left || (made.join == StreamedJoin::anti) == partners.empty();
            if (!stays) return;
            if (made.join == StreamedJoin::semi || made.join == StreamedJoin::anti || partners.empty()) continue;
            std::vector<std::vector<int>> longer;
            for (const std::vector<int>& tuple : all)
                for (int partner : partners) {
                    longer.push_back(tuple);
                    longer.back()[place] = partner;
                }
            all = longer;
        }
        rows.insert(rows.end(), all.begin(), all.end());
    }

    Random random_;
    CyclicShape shape_;
    std::vector<Made> made_;
    std::vector<int> order_;
};

TEST(StreamedBags, AgreeWithBruteForce) {
    const std::vector<CyclicShape> shapes = {
        {}, {.rows = 14, .domain = 2}, {.tables = 7, .attributes = 5, .rows = 7, .domain = 2, .left_join = 0.1}};
    int decided = 0, cyclic = 0, with_rows = 0, chains = 0;
    for (uint64_t seed = 0; seed < 5'000; seed++) {
        SCOPED_TRACE(seed);
        const CyclicJoinMaker maker(seed, shapes[seed % shapes.size()]);
        const std::vector<std::vector<int>> rows = maker.joined();
        const BruteForce brute(maker.test, rows);
        ASSERT_EQ(flaw_of(maker.test.plan), nullptr) << flaw_of(maker.test.plan);
        QuietContext context(1 + static_cast<int>(seed % 3));
        Streamed run(maker.test, context, 1 + static_cast<uint32_t>(seed % 7));
        if (const char* reason = run.run()) {
            EXPECT_TRUE(is_ambiguous(maker.test, brute, true)) << reason;
            continue;
        }
        EXPECT_FALSE(is_ambiguous(maker.test, brute, false));
        decided++;
        cyclic += !maker.test.plan.bags.empty();
        with_rows += !maker.test.plan.bags.empty() && !rows.empty();
        chains += maker.test.plan.bags.size() > 1 && !rows.empty();
        expect_result(maker.test, brute, *run.aggregate);
        if (testing::Test::HasFailure()) break;
    }
    EXPECT_GT(decided, 1'800);
    EXPECT_GT(cyclic, 300);
    EXPECT_GT(with_rows, 150);
    EXPECT_GT(chains, 60);
}

// R(a, b), S(b, c), T(c, a) with all pairs of so many values, hung up at the bag.
StreamedJoinTest triangles(int values) {
    StreamedJoinTest test;
    test.plan.tables.resize(4);
    for (int t = 0; t < 3; t++) {
        StreamedTable& table = test.plan.tables[t];
        table.columns = {StreamedType::integer, StreamedType::integer};
        table.key = {0, 1};
        table.held = true;
        test.plan.tables[3].children.push_back({t, StreamedJoin::inner, {t, (t + 1) % 3}});
        test.plan.attributes.push_back({{0, t}, {1, (t + 1) % 3}});
        Rows& rows = test.rows.emplace_back();
        for (int i = 0; i < values * values; i++)
            rows.push_back({integer_value(i / values), integer_value(-(i % values))});
        for (std::vector<Value>& row : rows) row[0].word = -row[0].word;
    }
    test.plan.tables[3].columns.assign(3, StreamedType::integer);
    test.plan.attributes.emplace_back();
    test.plan.bags = {{3, {0, 1, 2}}};
    test.rows.emplace_back();
    test.aggregates = {{}};
    QueryMaker{test};
    return test;
}

TEST(StreamedBags, AreReadOrWrittenLikeOtherTables) {
    const StreamedJoinTest test = triangles(3);
    QuietContext context;
    Writer writer(context);
    test.plan.write(writer);
    Reader reader(writer.bytes());
    EXPECT_EQ(StreamedPlan::read(reader), test.plan);
    reader.finish();
    const auto flaw = [&](auto change) {
        StreamedPlan plan = test.plan;
        change(plan);
        const char* found = flaw_of(plan);
        return std::string(found ? found : "");
    };
    EXPECT_EQ(flaw([](StreamedPlan&) {}), "");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.attributes.pop_back(); }), "the attributes of a table are missing");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.bags[0].table = 4; }), "a bag is no table");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.bags.push_back(p.bags[0]); }), "two bags are one table");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.attributes[3] = {{0, 0}}; }), "a bag is read by a bag");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.bags[0].attributes.pop_back(); }), "a bag's columns are not its attributes");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.bags[0].attributes = {0, 1, 1}; }), "a bag's attributes are not distinct");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.bags[0].attributes = {0, 1, 5}; }), "a bag's attribute is in no table");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.attributes[0][0].first = 2; }), "an attribute is no column of integers");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.attributes[0][0].second = 1; }), "a table has an attribute twice");
    EXPECT_EQ(flaw([](StreamedPlan& p) { p.tables[0].held = false; }), "a table that a bag reads is not held");
}

// A child whose key is not what the bag joined it by.
TEST(StreamedBags, ChildrenMayBeJoinedByOtherColumns) {
    StreamedJoinTest test = triangles(2);
    Random random(1);
    std::set<std::pair<int, int>> edges;
    for (int i = 0; i < 16; i++) edges.emplace(random.below(6), random.below(6));
    for (int t = 0; t < 3; t++) {
        test.rows[t].clear();
        for (const auto& [from, to] : edges) test.rows[t].push_back({integer_value(from), integer_value(to)});
    }
    test.plan.tables[0].key = {1, 0};
    int cycles = 0, expected = 0;
    for (const auto& [a, b] : edges)
        for (int c = 0; c < 6; c++) {
            const bool triangle = edges.count({b, c}) != 0 && edges.count({c, a}) != 0;
            cycles += triangle;
            expected += triangle && edges.count({b, a}) != 0;
        }
    EXPECT_GT(expected, 0);
    EXPECT_LT(expected, cycles);
    QuietContext context;
    Streamed run(test, context);
    EXPECT_STREQ(run.run(), nullptr);
    EXPECT_TRUE(run.aggregate->cell(0, 1).integer == expected);
}

TEST(StreamedBags, AreNotInMemory) {
    const StreamedJoinTest test = triangles(60);
    QuietContext context(1, 2'000'000); // 216,000 rows of the bag
    Streamed run(test, context);
    EXPECT_STREQ(run.run(), nullptr);
    EXPECT_TRUE(run.aggregate->cell(0, 1).integer == 216'000);
    EXPECT_EQ(run.aggregate->report(3).rows_read, 216'000U);
    EXPECT_EQ(run.aggregate->report(0).rows_read, 3'600U);
    EXPECT_LT(context.memory().used(), 10'000U);
    for (uint64_t limit = 0; limit < 500'000; limit += 20'000) {
        QuietContext small(1, limit);
        Streamed refused(test, small);
        EXPECT_STREQ(refused.run(), "more memory than is allowed") << limit;
        EXPECT_EQ(small.memory().used(), 0U);
    }
}

TEST(StreamedBags, CancelledOften) {
    const StreamedJoinTest test = triangles(70);
    ImpatientContext patient;
    EXPECT_STREQ(Streamed(test, patient).run(), nullptr);
    EXPECT_GE(patient.polls, 20U);
    for (uint64_t patience = 0; patience < patient.polls; patience += 1 + patient.polls / 16) {
        ImpatientContext context(patience);
        Streamed run(test, context);
        EXPECT_THROW(run.run(), Cancelled);
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

// Triangles of a random graph with a number at each edge, so many edges that a bag has many chunks: hung up at the bag
// or at a table, grouped by a vertex of the first table or not.
StreamedJoinTest weighted_triangles(uint64_t seed) {
    StreamedJoinTest test;
    Random random(seed);
    const int root = random.below(4), kept = random.below(2);
    const std::vector<int> order =
        root == 3 ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{(root + 1) % 3, (root + 2) % 3, 3, root};
    std::vector<int> place(4);
    for (int i = 0; i < 4; i++) place[order[i]] = i;
    test.plan.tables.resize(4);
    test.plan.attributes.resize(4);
    test.rows.resize(4);
    StreamedTable& bag = test.plan.tables[place[3]];
    bag.columns.assign(3, StreamedType::integer);
    test.plan.bags = {{place[3], {0, 1, 2}}};
    for (int t = 0; t < 3; t++) {
        StreamedTable& table = test.plan.tables[place[t]];
        table.columns = {StreamedType::integer, StreamedType::integer, StreamedType::number, StreamedType::integer};
        table.held = true;
        test.plan.attributes[place[t]] = {{0, t}, {1, (t + 1) % 3}};
        if (t == 0 && kept == 1) table.groups = {0};
        if (t == root) {
            table.children = {{place[3], StreamedJoin::inner, {0, 1}}};
            bag.key = {t, (t + 1) % 3};
        } else {
            table.key = {0, 1};
            bag.children.push_back({place[t], StreamedJoin::inner, {t, (t + 1) % 3}});
        }
        for (int i = 0; i < 3'000; i++)
            test.rows[place[t]].push_back({integer_value(random.below(60)), integer_value(random.below(60)),
                                           number_value(std::exp(random.below(40)) / 3),
                                           integer_value(random.below(9))});
    }
    Aggregate count, numbers, integers, largest;
    numbers.kind = CellKind::number_sum;
    numbers.factors = {{place[1], 2}};
    if (random.chance(0.7)) numbers.factors.emplace_back(place[2], 2);
    integers.kind = CellKind::integer_sum;
    integers.factors = {{place[0], 3}, {place[2], 3}};
    largest.kind = CellKind::number_max;
    largest.factors = {{place[0], 2}};
    test.aggregates = {count, integers, largest};
    if (random.chance(0.7)) test.aggregates.push_back(numbers);
    QueryMaker{test};
    return test;
}

std::vector<uint64_t> bits_of(const StreamedJoinTest& test, const StreamedAggregate& result) {
    std::vector<uint64_t> bits;
    for (uint64_t g = 0; g < result.groups(); g++) {
        for (size_t c = 0; c < test.plan.message_groups(test.plan.root()); c++)
            bits.push_back(static_cast<uint64_t>(result.group_value(g, c)));
        for (size_t q = 0; q < test.plan.tables.back().queries.size(); q++) {
            const StreamedCell cell = result.cell(g, q);
            bits.push_back(static_cast<uint64_t>(cell.integer));
            bits.push_back(std::bit_cast<uint64_t>(cell.number));
        }
    }
    return bits;
}

// Cycles of five in a random graph, whose three bags are a chain: the message between two of them is made in parts.
// expected: the number of cycles.
StreamedJoinTest cycles_of_5(uint64_t seed, double& expected) {
    constexpr int length = 5, vertices = 40, edges = 900;
    Random random(seed);
    const int root = random.below(length + 1) - 1, grouped = random.below(2 * length), summed = random.below(length);
    std::vector<std::vector<int>> attributes;
    for (int t = 0; t < length; t++) attributes.push_back({t, (t + 1) % length});
    QuietContext context;
    const JoinDecomposition found = decompose_join(attributes, std::vector<double>(length, edges), root, context);
    attributes.insert(attributes.end(), found.bags.begin(), found.bags.end());
    std::vector<int> place(attributes.size());
    for (size_t i = 0; i < found.order.size(); i++) place[found.order[i]] = static_cast<int>(i);

    StreamedJoinTest test;
    test.plan.tables.resize(attributes.size());
    test.plan.attributes.resize(attributes.size());
    test.rows.resize(attributes.size());
    const auto columns_of = [&](int node, const std::vector<int>& some) {
        std::vector<int> columns;
        for (int attribute : some)
            columns.push_back(static_cast<int>(std::find(attributes[node].begin(), attributes[node].end(), attribute) -
                                               attributes[node].begin()));
        return columns;
    };
    Eigen::MatrixXd walks = Eigen::MatrixXd::Identity(vertices, vertices);
    for (int node = 0; node < static_cast<int>(attributes.size()); node++) {
        StreamedTable& table = test.plan.tables[place[node]];
        table.columns.assign(attributes[node].size(), StreamedType::integer);
        const JoinTree::Node& in_tree = found.nodes[node];
        if (in_tree.parent >= 0) {
            table.key = columns_of(node, in_tree.separator);
            test.plan.tables[place[in_tree.parent]].children.push_back(
                {place[node], StreamedJoin::inner, columns_of(in_tree.parent, in_tree.separator)});
        }
        if (node >= length) {
            test.plan.bags.push_back({place[node], attributes[node]});
            continue;
        }
        table.columns.push_back(StreamedType::number);
        table.held = true;
        test.plan.attributes[place[node]] = {{0, attributes[node][0]}, {1, attributes[node][1]}};
        if (node == grouped) table.groups = {0};
        Eigen::MatrixXd steps = Eigen::MatrixXd::Zero(vertices, vertices);
        for (int i = 0; i < edges; i++) {
            const int from = random.below(vertices), to = random.below(vertices);
            test.rows[place[node]].push_back(
                {integer_value(from), integer_value(to), number_value(std::exp(random.below(40)) / 3)});
            steps(from, to) += 1;
        }
        walks *= steps;
    }
    expected = walks.trace();
    Aggregate count, numbers;
    numbers.kind = CellKind::number_sum;
    numbers.factors = {{place[summed], 2}};
    test.aggregates = {count, numbers};
    QueryMaker{test};
    return test;
}

TEST(StreamedBags, ChainsAreCountedInParts) {
    for (uint64_t seed = 0; seed < 24; seed++) {
        SCOPED_TRACE(seed);
        double expected = 0;
        const StreamedJoinTest test = cycles_of_5(seed, expected);
        ASSERT_EQ(flaw_of(test.plan), nullptr) << flaw_of(test.plan);
        EXPECT_EQ(test.plan.bags.size(), 3U);
        std::vector<uint64_t> bits;
        for (int threads : {1, 2, 5}) {
            QuietContext context(threads);
            Streamed run(test, context);
            ASSERT_STREQ(run.run(), nullptr);
            double count = 0;
            for (uint64_t g = 0; g < run.aggregate->groups(); g++)
                count += static_cast<double>(run.aggregate->cell(g, 1).integer);
            EXPECT_EQ(count, expected);
            if (threads == 1) bits = bits_of(test, *run.aggregate);
            EXPECT_EQ(bits_of(test, *run.aggregate), bits) << threads;
            for (const StreamedBag& bag : test.plan.bags) {
                const StreamedReport counts = run.aggregate->report(bag.table);
                EXPECT_GT(counts.rows_read, 5'000U);
                EXPECT_GT(counts.bytes, 0U);
            }
        }
    }
}

TEST(StreamedBags, HaveTheSameBitsForAnyNumberOfThreads) {
    for (uint64_t seed = 0; seed < 24; seed++) {
        SCOPED_TRACE(seed);
        const StreamedJoinTest test = weighted_triangles(seed);
        std::vector<uint64_t> expected;
        for (int threads : {1, 2, 3, 5}) {
            QuietContext context(threads);
            Streamed run(test, context);
            ASSERT_STREQ(run.run(), nullptr);
            const std::vector<uint64_t> bits = bits_of(test, *run.aggregate);
            if (threads == 1) expected = bits;
            EXPECT_EQ(bits, expected) << threads;
            EXPECT_GT(run.aggregate->report(test.plan.bags[0].table).rows_read, 10'000U);
        }
    }
}

TEST(StreamedBags, ThreadsStopEarly) {
    const StreamedJoinTest test = weighted_triangles(3);
    const auto polls_of = [&](int threads, uint64_t patience) {
        class Host : public RunContext {
          public:
            Host(int count, uint64_t polls_left) : RunContext(uint64_t{1} << 40, count), left(polls_left) {}
            bool keep_going() override {
                polls++;
                return left-- > 0;
            }
            void progress(const char*, uint64_t, uint64_t) override {}
            void note(std::string_view) override {}
            uint64_t left, polls = 0;
        } host(threads, patience);
        Streamed run(test, host);
        if (patience == UINT64_MAX) {
            EXPECT_STREQ(run.run(), nullptr);
        } else {
            EXPECT_THROW(run.run(), Cancelled);
            EXPECT_EQ(host.memory().used(), 0U);
        }
        return host.polls;
    };
    const uint64_t polls = polls_of(2, UINT64_MAX);
    EXPECT_GE(polls, 4U);
    for (uint64_t patience = 0; patience < 3; patience++) polls_of(2, patience);
    for (uint64_t limit = 0; limit < 600'000; limit += 50'000) {
        QuietContext small(2, limit);
        EXPECT_STREQ(Streamed(test, small).run(), "more memory than is allowed") << limit;
        EXPECT_EQ(small.memory().used(), 0U);
    }
}

} // namespace
} // namespace btml::relational
