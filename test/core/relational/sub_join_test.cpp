#include "core/relational/filtered/sub_join_sums.hpp"

#include "caught.hpp"
#include "core/relational/join/join_rows.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::ImpatientContext;

constexpr SubJoin::Limits no_limits{UINT64_MAX, UINT64_MAX};

// A grouped join with values, from which values of random leaves are subtracted, and the same by the rows of the join.
class Fixture {
  public:
    Fixture(const PlainJoin& plain, uint64_t seed, RunContext& context)
        : context_(context),
          team_(context),
          random_(seed),
          join_(columnar(plain, context)),
          grouped_(join_, context),
          rows_(enumerate(join_, context)) {
        for (const GroupedTable& table : grouped_.tables()) {
            filters_.emplace_back(table.rows, context.memory());
            places_.emplace_back(table.rows);
            for (size_t i = 0; i < table.rows; i++) places_.back()[table.order.empty() ? i : table.order[i]] = i;
        }
        value_table_ = static_cast<size_t>(random_.below(static_cast<int>(join_.tables().size())));
        const uint64_t rows = grouped_.tables()[value_table_].rows;
        if (random_.chance(0.3))
            for (uint64_t i = 0; i < rows; i++) weights_.push_back(random_.below(3));
        for (uint64_t i = 0; i < rows; i++) {
            const bool counts = weights_.empty() || weights_[i] > 0; // what has no weight may be anything
            values_.push_back(counts ? random_.below(9) - 4 : std::numeric_limits<double>::infinity());
        }
        subtracted_.assign(rows_.rows, 0);
        sub_join_.emplace(FilteredJoin{grouped_, filters_, value_table_, values_, team_, context_},
                          weights_.empty() ? nullptr : weights_.data());
        sums_.emplace(*sub_join_);
    }

    // The leaves of a random tree, whose nodes are split by rows of a table of `tables`.
    bool subtract_tree(int leaves, const std::vector<size_t>& tables, const SubJoin::Limits& limits = no_limits) {
        std::vector<std::vector<std::vector<bool>>> nodes(1); // by table, row
        for (const GroupedTable& table : grouped_.tables()) nodes[0].emplace_back(table.rows, true);
        while (nodes.size() < static_cast<size_t>(leaves)) {
            const auto split = static_cast<size_t>(random_.below(static_cast<int>(nodes.size())));
            const size_t t = tables[static_cast<size_t>(random_.below(static_cast<int>(tables.size())))];
            auto left = nodes[split], right = left;
            for (size_t row = 0; row < left[t].size(); row++) (random_.chance(0.5) ? left : right)[t][row] = false;
            nodes[split] = std::move(left);
            nodes.push_back(std::move(right));
        }
        std::vector<std::vector<RowSubset>> subsets;
        std::vector<SubJoin::Leaf> subtracted;
        for (const auto& node : nodes) {
            const double value = random_.below(7) - 3;
            if (value == 0) continue;
            for (uint64_t i = 0; i < rows_.rows; i++)
                if (is_in(node, i)) subtracted_[i] += value;
            subsets.emplace_back();
            for (size_t t = 0; t < node.size(); t++) subsets.back().push_back(subset_of(node[t], t));
            subtracted.push_back({{}, value});
        }
        for (size_t i = 0; i < subtracted.size(); i++)
            for (const RowSubset& subset : subsets[i]) subtracted[i].rows.push_back(&subset);
        const bool held = sub_join_->subtract(subtracted, limits);
        if (held) sums_->update();
        return held;
    }

    std::vector<size_t> all_tables() const {
        std::vector<size_t> tables(join_.tables().size());
        for (size_t t = 0; t < tables.size(); t++) tables[t] = t;
        return tables;
    }

    // Over a random selection.
    void expect_equal_sums() {
        std::vector<std::vector<bool>> selected;
        std::vector<std::vector<double>> weights(join_.tables().size());
        std::vector<RowSubset> subsets;
        Selection selection;
        for (size_t t = 0; t < join_.tables().size(); t++) {
            selected.push_back(random_.chance(0.6) ? std::vector<bool>(grouped_.tables()[t].rows, true)
                                                   : draw(grouped_.tables()[t].rows, 0.6));
            subsets.push_back(subset_of(selected[t], t));
            if (random_.chance(0.3))
                for (uint64_t i = 0; i < grouped_.tables()[t].rows; i++) weights[t].push_back(random_.below(4) * 0.25);
            if (t == value_table_ && !weights_.empty()) weights[t] = weights_;
        }
        for (size_t t = 0; t < subsets.size(); t++) {
            selection.rows.push_back(&subsets[t]);
            selection.weights.push_back(weights[t].empty() ? nullptr : weights[t].data());
        }
        compare(selection, selected, weights);
    }

    // Sums of all rows, one after the other.
    std::vector<double> all_sums() {
        std::vector<RowSubset> subsets;
        Selection selection;
        for (size_t t = 0; t < join_.tables().size(); t++)
            subsets.push_back(subset_of(std::vector<bool>(grouped_.tables()[t].rows, true), t));
        for (const RowSubset& subset : subsets) {
            selection.rows.push_back(&subset);
            selection.weights.push_back(nullptr);
        }
        Found found(*this, [](size_t) { return true; });
        sums_->write(selection, found.targets);
        std::vector<double> all;
        for (const auto& numbers : {&found.counts, &found.sums, &found.squares})
            for (const std::vector<double>& of_table : *numbers)
                all.insert(all.end(), of_table.begin(), of_table.end());
        return all;
    }

    SubJoin& sub_join() { return *sub_join_; }
    size_t value_table() const { return value_table_; }
    uint64_t join_rows() const { return rows_.rows; }
    Buffer<double>& values() { return values_; }

  private:
    // Where sums are written to.
    struct Found {
        std::vector<std::vector<double>> counts, sums, squares;
        std::vector<SubJoinSums::Target> targets;

        template <class IsAsked>
        Found(const Fixture& fixture, const IsAsked& is_asked) {
            for (size_t t = 0; t < fixture.join_.tables().size(); t++) {
                const uint64_t rows = fixture.grouped_.tables()[t].rows;
                const auto add = [&](auto& numbers) {
                    numbers.emplace_back(rows, 0.0);
                    return is_asked(t) ? numbers.back().data() : nullptr;
                };
                targets.push_back({add(counts), add(sums), add(squares)});
            }
        }
    };

    void compare(const Selection& selection, const std::vector<std::vector<bool>>& selected,
                 const std::vector<std::vector<double>>& weights) {
        std::vector<bool> asked;
        for (size_t t = 0; t < selected.size(); t++) asked.push_back(random_.chance(0.8));
        const auto is_asked = [&](size_t t) { return asked[t]; };
        Found found(*this, is_asked), expected(*this, is_asked);
        sums_->write(selection, found.targets);
        const SubJoinSums::Moments total = sums_->total(selection);
        SubJoinSums::Moments expected_total;
        for (uint64_t i = 0; i < rows_.rows; i++) {
            double weight = is_in(selected, i) ? 1 : 0;
            for (size_t t = 0; t < weights.size(); t++)
                if (!weights[t].empty()) weight *= weights[t][row_of(t, i)];
            if (weight == 0) continue;
            const double residual = values_[row_of(value_table_, i)] - subtracted_[i];
            expected_total += {weight, weight * residual, weight * residual * residual};
            for (size_t t = 0; t < weights.size(); t++) {
                const size_t row = row_of(t, i);
                expected.counts[t][row] += weight;
                expected.sums[t][row] += weight * residual;
                expected.squares[t][row] += weight * residual * residual;
            }
        }
        // All numbers are small multiples of a power of two, so sums are exact in any order.
        EXPECT_EQ(total.count, expected_total.count);
        EXPECT_EQ(total.sum, expected_total.sum);
        EXPECT_EQ(total.squares, expected_total.squares);
        for (size_t t = 0; t < weights.size(); t++) {
            if (!asked[t]) continue;
            EXPECT_EQ(found.counts[t], expected.counts[t]) << "table " << t;
            EXPECT_EQ(found.sums[t], expected.sums[t]) << "table " << t;
            EXPECT_EQ(found.squares[t], expected.squares[t]) << "table " << t;
        }
    }

    RowSubset subset_of(const std::vector<bool>& passes, size_t t) {
        RowSubset subset{std::find(passes.begin(), passes.end(), false) == passes.end(),
                         Buffer<RowId>(context_.memory(), "rows"), Buffer<RowId>(context_.memory(), "rows")};
        if (subset.all) return subset;
        const GroupedTable& table = grouped_.tables()[t];
        for (uint64_t g = 0; g < table.groups(); g++) {
            subset.first.push_back(static_cast<RowId>(subset.rows.size()));
            for (RowId row = table.first[g]; row < table.first[g + 1]; row++)
                if (passes[row]) subset.rows.push_back(row);
        }
        subset.first.push_back(static_cast<RowId>(subset.rows.size()));
        return subset;
    }

    std::vector<bool> draw(uint64_t rows, double probability) {
        std::vector<bool> passes;
        for (uint64_t i = 0; i < rows; i++) passes.push_back(random_.chance(probability));
        return passes;
    }

    // The row, in the order of the grouped table, of a row of the join.
    size_t row_of(size_t t, uint64_t i) const { return places_[t][rows_.row_ids[t].empty() ? i : rows_.row_ids[t][i]]; }

    bool is_in(const std::vector<std::vector<bool>>& rows, uint64_t i) const {
        for (size_t t = 0; t < rows.size(); t++)
            if (!rows[t][row_of(t, i)]) return false;
        return true;
    }

    RunContext& context_;
    ThreadTeam team_;
    Random random_;
    Join join_;
    GroupedJoin grouped_;
    JoinRows rows_;
    std::vector<RowFilters> filters_;
    std::vector<std::vector<size_t>> places_;
    size_t value_table_ = 0;
    std::vector<double> weights_; // of the values; empty: 1 each
    Buffer<double> values_{context_.memory(), "values"};
    std::vector<double> subtracted_; // by row of the join
    std::optional<SubJoin> sub_join_;
    std::optional<SubJoinSums> sums_;
};

// Trees touch more tables as they come, in the middle of a sequence of them.
TEST(SubJoin, EqualsTheRowsOfTheJoin) {
    int grown = 0, whole = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context(1 + static_cast<int>(seed % 3));
        RandomShape shape;
        shape.empty_table = 0.01;
        if (seed % 4 == 3) shape = cyclic_shape;
        Fixture fixture(random_join(seed + 70'000, shape), seed, context);
        Random random(seed);
        std::vector<size_t> tables = fixture.all_tables();
        for (size_t t = tables.size(); t > 1; t--)
            std::swap(tables[t - 1], tables[static_cast<size_t>(random.below(static_cast<int>(t)))]);
        for (size_t touched = 1; touched <= tables.size(); touched++) {
            fixture.expect_equal_sums();
            const std::vector<size_t> some(tables.begin(), tables.begin() + static_cast<std::ptrdiff_t>(touched));
            ASSERT_TRUE(fixture.subtract_tree(1 + random.below(7), some));
            grown += fixture.sub_join().held().size() > 1;
        }
        whole += fixture.sub_join().held().size() == tables.size();
        fixture.expect_equal_sums();
        if (HasFailure()) return;
    }
    EXPECT_GT(grown, 500);
    EXPECT_GT(whole, 100);
}

// Tables that all meet on few keys.
PlainJoin star(int tables, int rows, int keys) {
    PlainJoin join;
    for (int t = 0; t < tables; t++) {
        Column column;
        for (int i = 0; i < rows; i++) column.push_back(static_cast<Key>(i % keys));
        join.tables.push_back({{0}, {column}, rows, std::vector<double>(static_cast<size_t>(rows), 1)});
    }
    return join;
}

TEST(SubJoin, TreesOfManyLeaves) {
    QuietContext context(2);
    Fixture fixture(star(3, 24, 2), 5, context);
    ASSERT_TRUE(fixture.subtract_tree(150, fixture.all_tables()));
    fixture.expect_equal_sums();
    EXPECT_EQ(fixture.sub_join().cells(), fixture.join_rows()); // every row is told apart
}

// Values that are no small numbers: sums round, and do so in the same order.
TEST(SubJoin, SumsDoNotDependOnThreads) {
    for (const int keys : {1, 50}) {
        std::vector<double> sums[3];
        for (int threads = 1; threads <= 3; threads++) {
            QuietContext context(threads);
            Fixture fixture(star(3, keys == 1 ? 50 : 400, keys), 7, context);
            for (uint64_t i = 0; i < fixture.values().size(); i++)
                fixture.values()[i] = std::ldexp(1.0 / (3.0 + static_cast<double>(i)), 60);
            for (int tree = 0; tree < 4; tree++) ASSERT_TRUE(fixture.subtract_tree(20, fixture.all_tables()));
            EXPECT_GT(fixture.sub_join().cells(), 20'000u);
            sums[threads - 1] = fixture.all_sums();
        }
        EXPECT_EQ(sums[0], sums[1]);
        EXPECT_EQ(sums[0], sums[2]);
    }
}

// A table's rows with equal keys are more than a group holds, and more than are sorted at a time.
TEST(SubJoin, OneKeyOfManyRows) {
    PlainJoin plain = star(2, 140'000, 1);
    plain.tables[1] = star(1, 2, 1).tables[0];
    for (uint64_t seed = 0; seed < 3; seed++) {
        QuietContext context(2);
        Fixture fixture(plain, seed, context);
        fixture.expect_equal_sums();
        ASSERT_TRUE(fixture.subtract_tree(5, fixture.all_tables()));
        EXPECT_LT(fixture.sub_join().cells(), 100u);
        fixture.expect_equal_sums();
    }
}

TEST(SubJoin, StopsAtItsLimits) {
    for (const bool by_bytes : {false, true}) {
        QuietContext context;
        Fixture fixture(star(3, 60, 2), 3, context); // 54,000 rows
        const uint64_t before = context.memory().used();
        const SubJoin::Limits limits =
            by_bytes ? SubJoin::Limits{UINT64_MAX, 200'000} : SubJoin::Limits{5'000, UINT64_MAX};
        ASSERT_TRUE(fixture.subtract_tree(2, fixture.all_tables(), limits));
        fixture.expect_equal_sums();
        bool held = true;
        for (int tree = 0; held && tree < 20; tree++) {
            held = fixture.subtract_tree(3, fixture.all_tables(), limits);
            EXPECT_LE(context.memory().used(), before + 200'000);
        }
        EXPECT_FALSE(held);
    }
}

TEST(SubJoin, CountsItsMemory) {
    QuietContext context;
    {
        Fixture fixture(star(3, 120, 2), 3, context);
        const uint64_t before = context.memory().used();
        for (int tree = 0; tree < 5; tree++) ASSERT_TRUE(fixture.subtract_tree(10, fixture.all_tables()));
        fixture.all_sums();
        EXPECT_GT(fixture.sub_join().cells(), 200'000u);
        EXPECT_GT(fixture.sub_join().bytes(), fixture.sub_join().cells() * 20);
        EXPECT_LE(context.memory().used(), before + fixture.sub_join().bytes());
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(SubJoin, CanBeCancelled) {
    int cancelled = 0;
    for (uint64_t polls = 0; polls < 40; polls += 3) {
        ImpatientContext context(polls);
        try {
            Fixture fixture(star(3, 100, 1), 3, context);
            ASSERT_TRUE(fixture.subtract_tree(60, fixture.all_tables()));
            fixture.all_sums();
        } catch (const Cancelled&) {
            cancelled++;
        }
        EXPECT_EQ(context.memory().used(), 0u);
    }
    EXPECT_GT(cancelled, 3);
}

} // namespace
} // namespace btml::relational
