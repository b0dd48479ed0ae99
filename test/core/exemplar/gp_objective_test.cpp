// Objectives for Gaussian processes: closed-form gains against posteriors computed anew.
#include "exemplar_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

using namespace btml;
using namespace btml::exemplar;
using namespace btml::exemplar::test;

namespace {

void check_all_changes(ObjectiveKind kind, bool has_all, size_t exemplars, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << "objective " << static_cast<int>(kind) << ", all rows " << has_all
                                    << ", exemplars " << exemplars);
    QuietContext context(2);
    ThreadTeam team(context);
    std::vector<Row> rows = random_rows(25, 2, seed);
    for (size_t i = 0; i < rows.size(); i++) rows[i].weight = 1 + static_cast<double>(i % 2);
    const PointSet validation = points_of(rows, context.memory());
    std::vector<Row> candidates = random_rows(11, 2, seed + 1);
    candidates[3] = rows[7], candidates[6] = rows[8];
    PointSet block = points_of(candidates, context.memory(), 100);
    block.put(3, point_of(rows[7], 7)), block.put(6, point_of(rows[8], 8));
    const SquaredExponential kernel{{0.8, 1.3}, 1.7, 0.05, 0.2};
    Options options;
    options.exemplars = static_cast<int>(exemplars);
    options.objective = kind;
    const auto objective = make_objective({options, validation, has_all, nullptr, &kernel, nullptr}, team, context);
    const GpReference utility(kind, rows, kernel, has_all && kind == ObjectiveKind::variance);
    const bool has_rows = kind != ObjectiveKind::information;
    const double total = has_rows ? validation.total_weight() : 1;
    std::vector<Member> set;
    std::vector<Change> changes(block.size());
    objective->load(block, team);
    for (size_t step = 0; step < 80; step++) { // passes a refresh of the factor
        const bool add = objective->size() < exemplars;
        objective->score(0, block.size(), add, changes, team);
        for (size_t c = 0; c < block.size(); c++) {
            bool is_member = false;
            for (const Member& member : set) is_member |= member.number == block.number(c);
            if (is_member) continue;
            double best = -std::numeric_limits<double>::infinity();
            for (size_t slot = add ? set.size() : 0; slot < (add ? set.size() + 1 : set.size()); slot++) {
                auto changed = set;
                changed.resize(std::max(changed.size(), slot + 1));
                const uint64_t leaving = add ? UINT64_MAX : set[slot].number;
                changed[slot] = {block.number(c), candidates[c]};
                // The rows that count before and after the change.
                auto before = utility(set, block.number(c)), after = utility(changed, leaving);
                best = std::max(best, (after - before) / total);
            }
            EXPECT_NEAR(changes[c].gain, best, 1e-8) << "candidate " << c << ", step " << step;
        }
        const size_t c = step * 7 % block.size(), slot = add ? set.size() : step % exemplars;
        bool is_member = false;
        for (const Member& member : set) is_member |= member.number == block.number(c);
        if (is_member) continue;
        objective->apply(c, slot, team);
        set.resize(std::max(set.size(), slot + 1));
        set[slot] = {block.number(c), candidates[c]};
        if (has_rows) {
            double sum = 0;
            for (size_t i = 0; i < rows.size(); i++)
                if (!std::isnan(objective->utility_of(i))) sum += rows[i].weight * objective->utility_of(i);
            EXPECT_NEAR(sum, utility(set, UINT64_MAX), 1e-8);
        } else {
            EXPECT_NEAR(objective->utility(), utility(set, UINT64_MAX), 1e-8);
        }
    }
}

} // namespace

TEST(ExemplarProcess, GainsAreDifferencesOfUtility) {
    uint64_t seed = 10;
    for (const ObjectiveKind kind : {ObjectiveKind::information, ObjectiveKind::variance, ObjectiveKind::prediction})
        for (const bool has_all : {false, true})
            for (const size_t exemplars : {1, 2, 6}) check_all_changes(kind, has_all, exemplars, seed++);
}

// Targets drawn from a function of the first coordinate alone: the second gets a long length scale.
TEST(ExemplarProcess, LearnsLengthScales) {
    QuietContext context(2);
    ThreadTeam team(context);
    std::vector<Row> rows = random_rows(500, 2, 3);
    RandomStream random(1, 1);
    for (Row& row : rows) row.target = 5 + 2 * std::sin(2 * row.x[0]) + 0.2 * (random.unit() + random.unit() - 1);
    Options options;
    options.objective = ObjectiveKind::prediction;
    const SquaredExponential kernel = choose_kernel(options, points_of(rows, context.memory()), team, context);
    EXPECT_GT(kernel.length_scales[1], 5 * kernel.length_scales[0]);
    EXPECT_NEAR(kernel.noise, 0.04 / 6, 0.002);
    EXPECT_NEAR(kernel.mean, 5, 0.3);
}

// What learning says of itself: how far it is, and in the end the kernel.
class ListeningContext : public QuietContext {
  public:
    using QuietContext::QuietContext;
    void progress(const char* phase, uint64_t done, uint64_t total) override {
        EXPECT_STREQ(phase, "learning the kernel");
        EXPECT_LE(done, total);
        last_done = done, last_total = total;
    }
    void note(std::string_view text) override { notes.emplace_back(text); }

    uint64_t last_done = 0, last_total = 0;
    std::vector<std::string> notes;
};

TEST(ExemplarProcess, LearningSaysHowFarItIs) {
    // Evaluations of the likelihood: at most 40 of up to 500 points, then 15 of more.
    for (const auto& [points, total] : {std::pair<size_t, uint64_t>{100, 40}, {600, 15}}) {
        ListeningContext context(2);
        ThreadTeam team(context);
        Options options;
        options.objective = ObjectiveKind::prediction;
        options.length_scales = {1, 2};
        options.signal = 1;
        choose_kernel(options, points_of(random_rows(points, 2, 4), context.memory()), team, context);
        EXPECT_EQ(context.last_total, total);
        EXPECT_GE(context.last_done, 1U);
        ASSERT_EQ(context.notes.size(), 1U);
    }
}

// The note has the options that give the same kernel again.
TEST(ExemplarProcess, LearningSaysTheKernel) {
    ListeningContext context;
    ThreadTeam team(context);
    Options options;
    options.objective = ObjectiveKind::prediction;
    options.length_scales = {0.5, 2};
    options.signal = 3;
    const PointSet points = points_of(random_rows(50, 2, 5), context.memory());
    const SquaredExponential kernel = choose_kernel(options, points, team, context);
    ASSERT_EQ(context.notes.size(), 1U);
    EXPECT_EQ(context.notes[0],
              format("kernel learned: length_scales => '{0.5,2}', signal => 3, noise => %.4g", kernel.noise));
    options.noise = kernel.noise;
    choose_kernel(options, points, team, context);
    EXPECT_EQ(context.notes.size(), 1U); // there was nothing to learn
}
