#include "core/relational/filtered/filtered_sums.hpp"

#include "caught.hpp"
#include "core/relational/filtered/filtered_sketch.hpp"
#include "core/relational/join/join_rows.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

// A grouped join with random filters, selections, weights and values, and the same by the rows of the join.
class Fixture {
  public:
    Fixture(uint64_t seed, int threads, int max_filters) : Fixture(random_join(seed), seed, threads, max_filters) {}
    Fixture(const PlainJoin& plain, uint64_t seed, int threads, int max_filters)
        : context_(threads), random_(seed), join_(columnar(plain, context_)), grouped_(join_, context_) {
        rows_ = enumerate(join_, context_);
        for (size_t t = 0; t < join_.tables().size(); t++) add_table(t, max_filters);
        value_table_ = random_.below(static_cast<int>(join_.tables().size()));
        const uint64_t rows = join_.tables()[value_table_].rows;
        const std::vector<double>& weights = weights_[value_table_];
        for (uint64_t i = 0; i < rows; i++) {
            const double value = random_.below(9) - 4;
            const bool counts = weights.empty() || weights[i] > 0; // what has no weight may be anything
            values_.push_back(counts ? value : std::numeric_limits<double>::infinity());
        }
        for (int q = random_.below(40); q >= 0; q--) {
            FilterQuery query{random_.below(7) - 3.0, random_.below(3), {}};
            for (const std::vector<std::vector<bool>>& filters : filters_of_)
                query.filters.push_back(random_.below(static_cast<int>(filters.size()) + 1) - 1);
            queries_.push_back(query);
        }
    }

    void expect_equal_sums() {
        std::vector<Buffer<double>> sums, counts;
        std::vector<double*> to_sums, to_counts;
        for (const Table& table : join_.tables()) {
            sums.emplace_back(context_.memory(), "sums", table.rows, 0.5);
            counts.emplace_back(context_.memory(), "counts", table.rows, 0.0);
            to_sums.push_back(sums.back().data());
            to_counts.push_back(counts.back().data());
        }
        ThreadTeam team(context_);
        FilteredSums filtered({grouped_, filters_, value_table_, values_, team, context_});
        filtered.add(selection(), queries_, to_sums, to_counts);
        std::vector<std::vector<double>> expected_sums, expected_counts;
        for (const Table& table : join_.tables()) {
            expected_sums.emplace_back(table.rows, 0.5);
            expected_counts.emplace_back(table.rows, 0);
        }
        double sum = 0, count = 0;
        for (uint64_t i = 0; i < rows_.rows; i++) {
            const std::vector<RowId> tuple = tuple_of(i);
            const double weight = weight_of(tuple);
            const double answer = weight == 0 ? 0 : weight * answer_of(tuple);
            sum += answer;
            count += weight;
            for (size_t t = 0; t < tuple.size(); t++) {
                expected_sums[t][tuple[t]] += answer;
                expected_counts[t][tuple[t]] += weight;
            }
        }
        // All numbers are small multiples of a power of two, so sums are exact in any order.
        for (size_t t = 0; t < sums.size(); t++)
            for (uint64_t row = 0; row < sums[t].size(); row++) {
                EXPECT_EQ(sums[t][row], expected_sums[t][row]) << "table " << t << " row " << row;
                EXPECT_EQ(counts[t][row], expected_counts[t][row]) << "table " << t << " row " << row;
            }
        const FilteredSums::Total total = filtered.total(selection(), queries_);
        EXPECT_EQ(total.sum, sum);
        EXPECT_EQ(total.count, count);
    }

    // Squared norms of rows that take part in few rows of the join: those hardly ever meet in one of many buckets, and
    // the sketch is exact where they do not.
    void count_equal_norms(int& compared, int& equal) {
        std::erase_if(queries_, [](const FilterQuery& query) { return query.power > 1; });
        for (size_t t = 0; t < weights_.size(); t++)
            for (double& weight : weights_[t]) weight *= weight;
        std::vector<std::vector<double>> expected, tuples;
        for (const Table& table : join_.tables()) {
            expected.emplace_back(table.rows, 0);
            tuples.emplace_back(table.rows, 0);
        }
        for (uint64_t i = 0; i < rows_.rows; i++) {
            const std::vector<RowId> tuple = tuple_of(i);
            const double weight = weight_of(tuple), answer = weight == 0 ? 0 : answer_of(tuple);
            for (size_t t = 0; t < tuple.size(); t++) {
                expected[t][tuple[t]] += weight * answer * answer;
                tuples[t][tuple[t]] += weight > 0;
            }
        }
        std::vector<Buffer<double>> all_norms;
        std::vector<double*> to;
        for (const Table& table : join_.tables())
            to.push_back(all_norms.emplace_back(context_.memory(), "norms", table.rows, 0.0).data());
        ThreadTeam team(context_);
        FilteredSketch sketch({grouped_, filters_, value_table_, values_, team, context_});
        sketch.add_norms(selection(), queries_, 2'003, 7, to);
        for (size_t t = 0; t < expected.size(); t++) {
            const Buffer<double>& norms = all_norms[t];
            for (uint64_t row = 0; row < norms.size(); row++) {
                if (tuples[t][row] > 6) continue;
                compared++;
                equal += std::abs(norms[row] - expected[t][row]) <= 1e-9 * expected[t][row];
            }
        }
    }

  private:
    uint64_t rows_of(size_t t) const { return join_.tables()[t].rows; }

    RowSubset subset_of(const std::vector<bool>& passes, const GroupedTable& table) {
        RowSubset subset{false, Buffer<RowId>(context_.memory(), "rows"), Buffer<RowId>(context_.memory(), "rows")};
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

    void add_table(size_t t, int max_filters) {
        const GroupedTable& table = grouped_.tables()[t];
        filters_.emplace_back(table.rows, context_.memory());
        std::vector<std::vector<bool>>& filters = filters_of_.emplace_back();
        for (int f = random_.below(max_filters + 1); f > 0; f--) {
            const std::vector<bool> passes = draw(table.rows, random_.chance(0.2) ? 1 : 0.4);
            const int filter = filters_[t].add(subset_of(passes, table), context_);
            EXPECT_LE(filter, static_cast<int>(filters.size())); // that of an equal one, or the next
            if (filter == static_cast<int>(filters.size())) filters.push_back(passes);
            EXPECT_EQ(filters[static_cast<size_t>(filter)], passes);
        }
        selected_.push_back(random_.chance(0.4) ? draw(table.rows, 0.6) : std::vector<bool>(table.rows, true));
        if (random_.chance(0.5))
            subsets_.push_back(subset_of(selected_.back(), table));
        else {
            selected_.back().assign(table.rows, true);
            subsets_.push_back(
                {true, Buffer<RowId>(context_.memory(), "rows"), Buffer<RowId>(context_.memory(), "rows")});
        }
        std::vector<double>& weights = weights_.emplace_back();
        if (random_.chance(0.3))
            for (uint64_t i = 0; i < table.rows; i++) weights.push_back(random_.below(4) * 0.25);
    }

    Selection selection() const {
        Selection selection;
        for (size_t t = 0; t < subsets_.size(); t++) {
            selection.rows.push_back(&subsets_[t]);
            selection.weights.push_back(weights_[t].empty() ? nullptr : weights_[t].data());
        }
        return selection;
    }

    // Rows in the order of the grouped tables.
    std::vector<RowId> tuple_of(uint64_t i) const {
        std::vector<RowId> tuple;
        for (size_t t = 0; t < join_.tables().size(); t++) {
            const RowId row = rows_.row_ids[t].empty() ? static_cast<RowId>(i) : rows_.row_ids[t][i];
            const Buffer<RowId>& order = grouped_.tables()[t].order;
            tuple.push_back(
                order.empty() ? row : static_cast<RowId>(std::find(order.begin(), order.end(), row) - order.begin()));
        }
        return tuple;
    }

    double weight_of(const std::vector<RowId>& tuple) const {
        double weight = 1;
        for (size_t t = 0; t < tuple.size(); t++) {
            if (!selected_[t][tuple[t]]) return 0;
            if (!weights_[t].empty()) weight *= weights_[t][tuple[t]];
        }
        return weight;
    }

    double answer_of(const std::vector<RowId>& tuple) const {
        double answer = 0;
        for (const FilterQuery& query : queries_) {
            bool passes = true;
            for (size_t t = 0; t < tuple.size(); t++)
                passes &= query.filters[t] < 0 || filters_of_[t][static_cast<size_t>(query.filters[t])][tuple[t]];
            const double value = values_[tuple[value_table_]];
            if (passes) answer += query.coefficient * (query.power == 0 ? 1 : query.power == 1 ? value : value * value);
        }
        return answer;
    }

    QuietContext context_;
    Random random_;
    Join join_;
    GroupedJoin grouped_;
    JoinRows rows_;
    std::vector<RowFilters> filters_;
    std::vector<std::vector<std::vector<bool>>> filters_of_; // by table and filter, by row
    std::vector<std::vector<bool>> selected_;
    std::vector<RowSubset> subsets_;
    std::vector<std::vector<double>> weights_;
    size_t value_table_ = 0;
    Buffer<double> values_{context_.memory(), "values"};
    std::vector<FilterQuery> queries_;
};

TEST(FilteredSums, EqualTheRowsOfTheJoin) {
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        Fixture(seed + 70'000, 1 + static_cast<int>(seed % 3), seed % 5 == 4 ? 150 : 12).expect_equal_sums();
        if (HasFailure()) return;
    }
}

// Tables that all meet on one key, of which a few rows have equal ones: every message down leaves out another child.
PlainJoin star(uint64_t seed, int tables) {
    Random random(seed);
    PlainJoin join;
    for (int t = 0; t < tables; t++) {
        Column keys{0, 1, 2};
        for (int i = random.below(8); i < 2; i++) keys.push_back(static_cast<Key>(random.below(3)));
        join.tables.push_back({{0}, {keys}, static_cast<int>(keys.size()), std::vector<double>(keys.size(), 1)});
    }
    return join;
}

TEST(FilteredSums, EqualTheRowsOfAStar) {
    for (uint64_t seed = 0; seed < 60; seed++) {
        SCOPED_TRACE(seed);
        const PlainJoin plain = star(seed, 2 + static_cast<int>(seed % 10) * 2);
        Fixture(plain, seed, 1 + static_cast<int>(seed % 3), 6).expect_equal_sums();
        if (HasFailure()) return;
    }
}

// Every group of the middle table has the same key towards the first one, too many for one piece of work.
TEST(FilteredSums, OneKeyOfManyGroups) {
    constexpr int rows = 10'000;
    PlainJoin plain;
    Column same(rows, 0), numbers;
    for (Key i = 0; i < rows; i++) numbers.push_back(i);
    plain.tables.push_back({{0}, {{0}}, 1, {1}});
    plain.tables.push_back({{0, 1}, {same, numbers}, rows, std::vector<double>(rows, 1)});
    plain.tables.push_back({{1}, {numbers}, rows, std::vector<double>(rows, 1)});
    for (const int threads : {1, 3}) {
        QuietContext context(threads);
        const Join join = columnar(plain, context);
        const GroupedJoin grouped(join, context);
        ASSERT_EQ(join.count(context), uint64_t{rows});
        std::vector<RowFilters> filters;
        for (const GroupedTable& table : grouped.tables()) filters.emplace_back(table.rows, context.memory());
        Buffer<double> values(context.memory(), "values");
        double sum = 0;
        for (int i = 0; i < rows; i++) {
            values.push_back(i % 7 - 2);
            sum += i % 7 - 2;
        }
        const RowSubset all{true, Buffer<RowId>(context.memory(), "rows"), Buffer<RowId>(context.memory(), "rows")};
        const Selection selection{{&all, &all, &all}, {nullptr, nullptr, nullptr}};
        const std::vector<FilterQuery> queries{{2, 1, {-1, -1, -1}}, {3, 0, {-1, -1, -1}}};
        std::vector<double> sums[3] = {{0}, std::vector<double>(rows, 0), std::vector<double>(rows, 0)}, counts[3];
        for (size_t t = 0; t < 3; t++) counts[t] = sums[t];
        ThreadTeam team(context);
        FilteredSums filtered({grouped, filters, 2, values, team, context});
        filtered.add(selection, queries, {sums[0].data(), sums[1].data(), sums[2].data()},
                     {counts[0].data(), counts[1].data(), counts[2].data()});
        EXPECT_EQ(sums[0][0], 2 * sum + 3 * rows);
        EXPECT_EQ(counts[0][0], rows);
        for (size_t i = 0; i < rows; i++) {
            EXPECT_EQ(sums[2][i], 2 * values[i] + 3);
            EXPECT_EQ(counts[1][i], 1);
        }
        EXPECT_EQ(filtered.total(selection, queries).sum, 2 * sum + 3 * rows);
    }
}

TEST(FilteredSketch, EqualsTheRowsOfTheJoin) {
    int compared = 0, equal = 0;
    for (uint64_t seed = 0; seed < 60; seed++)
        Fixture(seed + 80'000, 1 + static_cast<int>(seed % 3), 12).count_equal_norms(compared, equal);
    EXPECT_GT(compared, 300);
    EXPECT_GE(equal, 0.97 * compared);
}

} // namespace
} // namespace btml::relational
