// Clustering: gains of all changes against the definition of the utility.
#include "exemplar_data.hpp"

#include "core/exemplar/dissimilarities.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace btml;
using namespace btml::exemplar;
using namespace btml::exemplar::test;

namespace {

double dissimilarity(Metric metric, std::span<const double> a, std::span<const double> b) {
    double squares = 0, absolutes = 0, inner = 0, aa = 0, bb = 0;
    for (size_t f = 0; f < a.size(); f++) {
        squares += (a[f] - b[f]) * (a[f] - b[f]);
        absolutes += std::abs(a[f] - b[f]);
        inner += a[f] * b[f], aa += a[f] * a[f], bb += b[f] * b[f];
    }
    switch (metric) {
    case Metric::squared_euclidean:
        return squares;
    case Metric::euclidean:
        return std::sqrt(squares);
    case Metric::cosine:
        return 1 - inner / std::sqrt(aa * bb);
    default:
        return absolutes;
    }
}

struct Setting {
    Metric metric = Metric::squared_euclidean;
    bool phantom = false, has_all = true;
};

using Set = std::vector<std::pair<uint64_t, std::vector<double>>>;

// Utility by its definition. Of a sample, rows that are exemplars do not count, nor does a candidate in its own gain.
class Reference {
  public:
    Reference(const Setting& setting, const std::vector<Row>& rows, std::vector<double> origin)
        : setting_(setting), rows_(rows), origin_(std::move(origin)) {}

    double operator()(const Set& set) const { return sum(set, set) / weights(set); }
    double gain(const Set& set, const Set& changed, const Set::value_type& candidate) const {
        Set uncounted = set;
        uncounted.push_back(candidate);
        return (sum(changed, uncounted) - sum(set, uncounted)) / weights({});
    }

  private:
    bool counts(uint64_t row, const Set& uncounted) const {
        return setting_.has_all ||
               std::ranges::none_of(uncounted, [row](const auto& member) { return member.first == row; });
    }
    double weights(const Set& uncounted) const {
        double weights = 0;
        for (size_t i = 0; i < rows_.size(); i++) weights += counts(i, uncounted) ? rows_[i].weight : 0;
        return weights;
    }
    double sum(const Set& set, const Set& uncounted) const {
        double sum = 0;
        for (size_t i = 0; i < rows_.size(); i++) {
            if (!counts(i, uncounted)) continue;
            const double alone = dissimilarity(setting_.metric, rows_[i].x, origin_);
            double least = setting_.phantom ? alone : std::numeric_limits<double>::infinity();
            for (const auto& [number, x] : set) least = std::min(least, dissimilarity(setting_.metric, rows_[i].x, x));
            sum += rows_[i].weight * (alone - (std::isinf(least) ? alone : least));
        }
        return sum;
    }

    const Setting setting_;
    const std::vector<Row>& rows_;
    const std::vector<double> origin_;
};

void check_all_changes(const Setting& setting, size_t exemplars, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "metric " << static_cast<int>(setting.metric) << ", phantom " << setting.phantom
                                    << ", has_all " << setting.has_all << ", exemplars " << exemplars);
    QuietContext context(2);
    ThreadTeam team(context);
    std::vector<Row> rows = random_rows(37, 3, seed);
    for (size_t i = 0; i < rows.size(); i++) rows[i].weight = static_cast<double>(i % 3);
    const PointSet validation = points_of(rows, context.memory());
    std::vector<Row> candidates = random_rows(9, 3, seed + 1);
    candidates.push_back(rows[4]), candidates.push_back(rows[5]), candidates.push_back(candidates[0]);
    PointSet block = points_of(candidates, context.memory(), 100);
    block.put(9, point_of(rows[4], 4)); // a validation row itself
    const std::vector<double> origin{0.1, 0.2, -0.1};
    PointSet reference(PointSet::Keep::sample, context.memory());
    reference.append(point_of({origin}, 1000));
    Options options;
    options.exemplars = static_cast<int>(exemplars);
    options.metric = setting.metric;
    options.phantom = setting.phantom ? PhantomKind::point : PhantomKind::none;
    const auto objective =
        make_objective({options, validation, setting.has_all, &reference, nullptr, nullptr}, team, context);
    const Reference utility(setting, rows, origin);
    Set set;
    std::vector<Change> changes(block.size());
    objective->load(block, team);
    const auto member = [&](size_t c) { return std::pair(block.number(c), candidates[c].x); };
    for (size_t step = 0; step < 3 * exemplars; step++) {
        ASSERT_NEAR(objective->utility(), utility(set), 1e-5);
        const bool add = objective->size() < exemplars;
        objective->score(0, block.size(), add, changes, team);
        for (size_t c = 0; c < block.size(); c++) {
            double best = -std::numeric_limits<double>::infinity();
            for (size_t slot = add ? set.size() : 0; slot < (add ? set.size() + 1 : set.size()); slot++) {
                auto changed = set;
                changed.resize(std::max(changed.size(), slot + 1));
                changed[slot] = member(c);
                const double gain = utility.gain(set, changed, member(c));
                best = std::max(best, gain);
                const double tolerance = slot == changes[c].slot ? 1e-5 : 1e9;
                EXPECT_NEAR(changes[c].gain, gain, tolerance);
            }
            EXPECT_NEAR(changes[c].gain, best, 1e-5) << "candidate " << c;
        }
        const size_t c = step * 7 % block.size(), slot = add ? set.size() : step % exemplars;
        objective->apply(c, slot, team);
        set.resize(std::max(set.size(), slot + 1));
        set[slot] = member(c);
    }
}

} // namespace

TEST(ExemplarClustering, GainsAreDifferencesOfUtility) {
    uint64_t seed = 0;
    for (const Metric metric : {Metric::squared_euclidean, Metric::euclidean, Metric::cosine, Metric::manhattan})
        for (const bool phantom : {false, true})
            for (const bool has_all : {false, true})
                for (const size_t exemplars : {1, 2, 5})
                    check_all_changes({metric, phantom, has_all}, exemplars, seed++);
}

// The rounding of coordinates is relative to their spread, not to their distance from zero.
TEST(ExemplarClustering, FarFromTheOrigin) {
    QuietContext context;
    ThreadTeam team(context);
    std::vector<Row> rows = random_rows(50, 2, 5);
    for (Row& row : rows)
        for (double& x : row.x) x += 1e9;
    const PointSet points = points_of(rows, context.memory());
    const auto dissimilarities = make_dissimilarities(Metric::squared_euclidean, points, nullptr, context);
    std::vector<float> to(dissimilarities->room(50));
    dissimilarities->compute(points, 0, 50, to.data(), team);
    for (size_t c = 0; c < 50; c++)
        for (size_t i = 0; i < 50; i++)
            EXPECT_NEAR(to[c * dissimilarities->stride() + i] * dissimilarities->unit(),
                        dissimilarity(Metric::squared_euclidean, rows[i].x, rows[c].x), 1e-5);
}

TEST(ExemplarClustering, HugeAndTinyCoordinates) {
    QuietContext context;
    ThreadTeam team(context);
    for (const double scale : {1e150, 1e-150}) {
        std::vector<Row> rows = random_rows(20, 2, 6);
        for (Row& row : rows)
            for (double& x : row.x) x *= scale;
        const PointSet points = points_of(rows, context.memory());
        const auto dissimilarities = make_dissimilarities(Metric::manhattan, points, nullptr, context);
        std::vector<float> to(dissimilarities->room(1));
        dissimilarities->compute(points, 3, 1, to.data(), team);
        for (size_t i = 0; i < 20; i++)
            EXPECT_NEAR(to[i] * dissimilarities->unit() / scale,
                        dissimilarity(Metric::manhattan, rows[i].x, rows[3].x) / scale, 1e-5);
    }
}

TEST(ExemplarClustering, NearestIgnoresThePhantom) {
    QuietContext context;
    ThreadTeam team(context);
    const std::vector<Row> rows = {{{0.0}}, {{1.0}}, {{10.0}}};
    const PointSet points = points_of(rows, context.memory());
    PointSet reference(PointSet::Keep::sample, context.memory());
    reference.append(point_of({{0.5}}, 9));
    Options options;
    options.exemplars = 2;
    options.phantom = PhantomKind::point;
    const auto objective = make_objective({options, points, true, &reference, nullptr, nullptr}, team, context);
    objective->load(points, team);
    objective->apply(2, 0, team);
    EXPECT_EQ(objective->nearest(0).slot, 0U);
    EXPECT_NEAR(objective->nearest(0).dissimilarity, 100, 1e-4);
}
