// Small sets of points, and objectives on them.
#pragma once

#include "core/exemplar/exemplar_objective.hpp"
#include "core/exemplar/stream_greedy.hpp"
#include "core/numbers/rng.hpp"

#include <map>

namespace btml::exemplar::test {

// Counts the polls of each phase.
class CountingContext : public QuietContext {
  public:
    bool keep_going() override { return polls_[phase_]++, true; }
    void progress(const char* phase, uint64_t, uint64_t) override { phase_ = phase; }
    uint64_t polls(const std::string& phase) { return polls_[phase]; }

  private:
    std::string phase_;
    std::map<std::string, uint64_t> polls_;
};

struct Row {
    std::vector<double> x;
    double target = 0, weight = 1;
};

inline std::vector<Row> random_rows(size_t count, size_t width, uint64_t seed) {
    RandomStream random(seed, 77);
    std::vector<Row> rows(count);
    for (Row& row : rows) {
        for (size_t f = 0; f < width; f++) row.x.push_back(4 * random.unit() - 2);
        row.target = std::sin(row.x[0]) + (width > 1 ? row.x[1] : 0) + 0.1 * random.unit();
    }
    return rows;
}

inline Point point_of(const Row& row, uint64_t number) {
    Point point;
    point.number = number;
    point.x = row.x;
    point.target = row.target;
    point.weight = row.weight;
    return point;
}

// As rows of a sample.
inline PointSet points_of(const std::vector<Row>& rows, MemoryBudget& budget, uint64_t first_number = 0) {
    PointSet points(PointSet::Keep::all, budget);
    for (size_t i = 0; i < rows.size(); i++) {
        points.append(point_of(rows[i], first_number + i));
        points.let_stand_for_others(i);
    }
    return points;
}

// Everything from the first scan to the end.
inline Selection select(const std::vector<Row>& rows, const Options& options, RunContext& context) {
    options.validate();
    StreamGreedy greedy(options, nullptr, context);
    std::vector<std::string> ids;
    for (size_t i = 0; i < rows.size(); i++) ids.push_back(std::to_string(i));
    for (size_t i = 0; i < rows.size(); i++) greedy.sample(point_of(rows[i], i));
    if (greedy.start()) do
            for (size_t i = 0; i < rows.size(); i++) {
                Point point = point_of(rows[i], i);
                point.id = ids[i], point.has_id = true;
                if (!greedy.offer(point)) break;
            }
        while (greedy.finish_pass());
    return greedy.finish();
}

inline std::vector<size_t> chosen(const Selection& selection) {
    std::vector<size_t> rows;
    for (const Exemplar& exemplar : selection.exemplars) rows.push_back(std::stoul(exemplar.id));
    return rows;
}

} // namespace btml::exemplar::test
