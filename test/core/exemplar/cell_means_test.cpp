// Samples brought in line with the means of all rows.
#include "core/exemplar/cell_means.hpp"
#include "exemplar_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using namespace btml;
using namespace btml::exemplar;
using namespace btml::exemplar::test;

namespace {

std::vector<double> mean_of(const PointSet& points) {
    std::vector<double> sum(points.width());
    for (size_t i = 0; i < points.size(); i++)
        for (size_t f = 0; f < sum.size(); f++) sum[f] += points.weight(i) * points.x(i)[f];
    for (double& x : sum) x /= points.total_weight();
    return sum;
}

// The first rows are the sample, too.
PointSet corrected(const std::vector<Row>& rows, size_t sampled, size_t cells, int threads = 1) {
    QuietContext context(threads);
    ThreadTeam team(context);
    static MemoryBudget budget(uint64_t{1} << 30);
    PointSet sample = points_of({rows.begin(), rows.begin() + static_cast<ptrdiff_t>(sampled)}, budget);
    CellMeans means(sample, cells, team, context);
    for (size_t i = sampled; i < rows.size(); i++) means.add(point_of(rows[i], i));
    means.correct(sample);
    return sample;
}

std::vector<double> coordinates(const PointSet& points) {
    std::vector<double> all;
    for (size_t i = 0; i < points.size(); i++) all.insert(all.end(), points.x(i).begin(), points.x(i).end());
    return all;
}

// Rows in groups of width 4, so far apart.
std::vector<Row> grouped_rows(size_t count, size_t groups, double apart, uint64_t seed) {
    RandomStream random(seed, 5);
    std::vector<Row> rows(count);
    for (Row& row : rows) {
        row.x = {0, 0, 0, 0};
        for (double& x : row.x) x = 4 * random.unit() - 2;
        row.x[0] += apart * static_cast<double>(random.below(groups));
    }
    return rows;
}

} // namespace

TEST(ExemplarCellMeans, OneCellTakesTheMeanOfAllRows) {
    std::vector<Row> rows = random_rows(3000, 5, 1);
    for (size_t i = 0; i < rows.size(); i++) rows[i].weight = static_cast<double>(i % 4);
    MemoryBudget budget(uint64_t{1} << 30);
    const std::vector<double> expected = mean_of(points_of(rows, budget));
    const PointSet sample = corrected(rows, 400, 1);
    const std::vector<double> mean = mean_of(sample);
    for (size_t f = 0; f < 5; f++) {
        EXPECT_NEAR(mean[f], expected[f], 1e-12);
        for (size_t i = 1; i < 400; i++) // together
            EXPECT_NEAR(sample.x(i)[f] - sample.x(0)[f], rows[i].x[f] - rows[0].x[f], 1e-12);
        EXPECT_GT(std::abs(sample.x(0)[f] - rows[0].x[f]), 1e-4);
    }
}

// Each group is a cell, and takes its own mean.
TEST(ExemplarCellMeans, CellsTakeTheirMeans) {
    const std::vector<Row> rows = grouped_rows(4000, 2, 20, 3);
    const PointSet sample = corrected(rows, 300, 2);
    for (const bool right : {false, true}) {
        double all = 0, all_count = 0, own = 0, own_count = 0;
        for (const Row& row : rows)
            if ((row.x[0] > 10) == right) all += row.x[1], all_count++;
        for (size_t i = 0; i < sample.size(); i++)
            if ((sample.x(i)[0] > 10) == right) own += sample.x(i)[1], own_count++;
        EXPECT_NEAR(own / own_count, all / all_count, 1e-12);
    }
}

// A mean between groups is no place for the rows of either.
TEST(ExemplarCellMeans, CellsOfSeveralGroupsStay) {
    const std::vector<Row> rows = grouped_rows(4000, 2, 1000, 4);
    MemoryBudget budget(uint64_t{1} << 30);
    EXPECT_EQ(coordinates(corrected(rows, 300, 1)), coordinates(points_of({rows.begin(), rows.begin() + 300}, budget)));
}

TEST(ExemplarCellMeans, DuplicatesAndTooManyCells) {
    std::vector<Row> rows = random_rows(600, 3, 6);
    for (size_t i = 0; i < rows.size(); i++) rows[i].x = {static_cast<double>(i % 3), 0.1, 1e6};
    MemoryBudget budget(uint64_t{1} << 30);
    for (const size_t cells : {size_t{3}, size_t{1000}})
        EXPECT_EQ(coordinates(corrected(rows, 100, cells)),
                  coordinates(points_of({rows.begin(), rows.begin() + 100}, budget)));
}

TEST(ExemplarCellMeans, RowsWithoutWeight) {
    std::vector<Row> rows = random_rows(600, 3, 7);
    for (Row& row : rows) row.weight = 0;
    MemoryBudget budget(uint64_t{1} << 30);
    EXPECT_EQ(coordinates(corrected(rows, 100, 4)), coordinates(points_of({rows.begin(), rows.begin() + 100}, budget)));
}

TEST(ExemplarCellMeans, AnyNumberOfThreads) {
    const std::vector<Row> rows = random_rows(3000, 7, 8);
    const std::vector<double> alone = coordinates(corrected(rows, 700, 20, 1));
    EXPECT_EQ(alone, coordinates(corrected(rows, 700, 20, 3)));
}

// The row nearest to the mean of all rows is the best exemplar, and a sample does not hide it.
TEST(ExemplarCellMeans, OneExemplarIsNearestToTheMean) {
    const std::vector<Row> rows = random_rows(4000, 5, 9);
    MemoryBudget budget(uint64_t{1} << 30);
    const std::vector<double> mean = mean_of(points_of(rows, budget));
    size_t best = 0;
    const auto distance = [&](size_t i) {
        double sum = 0;
        for (size_t f = 0; f < 5; f++) sum += (rows[i].x[f] - mean[f]) * (rows[i].x[f] - mean[f]);
        return sum;
    };
    for (size_t i = 1; i < rows.size(); i++)
        if (distance(i) < distance(best)) best = i;
    Options options;
    options.exemplars = 1;
    options.validation = 100;
    for (options.seed = 0; options.seed < 5; options.seed++) {
        QuietContext context;
        EXPECT_EQ(chosen(select(rows, options, context)), std::vector<size_t>{best});
    }
}

TEST(ExemplarCellMeans, PollsWhileRowsMove) {
    CountingContext context;
    ThreadTeam team(context);
    PointSet sample = points_of(random_rows(12800, 2, 11), context.memory());
    CellMeans means(sample, 1, team, context);
    context.progress("correct", 0, 0);
    means.correct(sample);
    EXPECT_GE(context.polls("correct"), 200 + 50U); // 50 batches find their cells
}

TEST(ExemplarCellMeans, MemoryIsKnownBefore) {
    const std::vector<Row> rows = random_rows(300, 30, 10);
    QuietContext context(2);
    ThreadTeam team(context);
    const PointSet sample = points_of(rows, context.memory());
    const uint64_t before = context.memory().used();
    CellMeans means(sample, 40, team, context);
    uint64_t most = 0;
    for (size_t i = 0; i < 5000; i++) {
        means.add(point_of(rows[i % 300], 300 + i));
        most = std::max(most, context.memory().used() - before);
    }
    EXPECT_LE(most, CellMeans::memory(40, 30));
    EXPECT_GT(2 * most, CellMeans::memory(40, 30));
}
