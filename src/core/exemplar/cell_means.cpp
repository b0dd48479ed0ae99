#include "core/exemplar/cell_means.hpp"

#include <algorithm>
#include <cmath>

namespace btml::exemplar {

namespace {

constexpr size_t batch_rows = 256;
constexpr int lloyd_steps = 5;
constexpr size_t spacing_rows = 100; // of a cell, enough to know how far apart they are

double squared_distance(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (size_t f = 0; f < a.size(); f++) sum += (a[f] - b[f]) * (a[f] - b[f]);
    return sum;
}

} // namespace

CellMeans::CellMeans(const PointSet& first_rows, size_t cells, ThreadTeam& team, RunContext& context)
    : team_(team),
      context_(context),
      count_(std::min(cells, first_rows.size())),
      width_(first_rows.width()),
      batch_(PointSet::Keep::sample, context.memory()),
      distances_(context.memory(), "dissimilarities to centres"),
      all_(count_, width_, context.memory()) {
    Buffer<double> centres(context.memory(), "centres", count_ * width_);
    for (size_t c = 0; c < count_; c++)
        std::ranges::copy(first_rows.x(c * first_rows.size() / count_), centres.data() + c * width_);
    for (int step = 0; step < lloyd_steps; step++) {
        set_centres(centres.data());
        Cells found(count_, width_, context.memory());
        add_rows(first_rows, found);
        for (size_t c = 0; c < count_; c++)
            if (found.weights[c] > 0) std::copy_n(found.means.data() + c * width_, width_, centres.data() + c * width_);
    }
    set_centres(centres.data());
    add_rows(first_rows, all_);
}

uint64_t CellMeans::memory(uint64_t cells, uint64_t width) {
    const uint64_t doubles = cells * (5 * width + 6) + batch_rows * (width + 4);
    return doubles * sizeof(double) + batch_rows * (cells + Dissimilarities::lanes) * sizeof(float);
}

void CellMeans::Cells::add(size_t cell, double weight, std::span<const double> x) {
    if (!(weight > 0)) return;
    weights[cell] += weight;
    const double part = weight / weights[cell];
    double* const mean = means.data() + cell * x.size();
    for (size_t f = 0; f < x.size(); f++) mean[f] += part * (x[f] - mean[f]);
}

void CellMeans::set_centres(const double* centres) {
    PointSet points(PointSet::Keep::sample, context_.memory());
    for (size_t c = 0; c < count_; c++) points.append({.x = {centres + c * width_, width_}});
    to_centres_ = make_dissimilarities(Metric::squared_euclidean, points, nullptr, context_);
    distances_.resize(to_centres_->room(batch_rows));
}

// Adds the rows to their cells, and calls found(row, cell) for each.
template <class Found>
void CellMeans::add_rows(const PointSet& points, Cells& to, Found&& found) {
    for (size_t first = 0; first < points.size(); first += batch_rows) {
        context_.poll();
        const size_t count = std::min(batch_rows, points.size() - first);
        to_centres_->compute(points, first, count, distances_.data(), team_);
        for (size_t i = 0; i < count; i++) {
            const float* const distances = distances_.data() + i * to_centres_->stride();
            const size_t cell = std::min_element(distances, distances + count_) - distances;
            to.add(cell, points.weight(first + i), points.x(first + i));
            found(first + i, cell);
        }
    }
}

void CellMeans::add_rows(const PointSet& points, Cells& to) {
    add_rows(points, to, [](size_t, size_t) {});
}

void CellMeans::add(const Point& point) {
    batch_.append(point);
    if (batch_.size() < batch_rows) return;
    add_rows(batch_, all_);
    batch_.clear();
}

// Returns the median of the squared distances of some of these rows from their nearest neighbours among them; 0 for one
// row.
double CellMeans::spacing(const PointSet& sample, std::span<const uint32_t> rows) const {
    context_.poll();
    const size_t count = std::min(rows.size(), spacing_rows);
    if (count < 2) return 0;
    std::vector<double> nearest(count, std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const double d = squared_distance(sample.x(rows[i]), sample.x(rows[j]));
            nearest[i] = std::min(nearest[i], d), nearest[j] = std::min(nearest[j], d);
        }
    std::ranges::nth_element(nearest, nearest.begin() + (count / 2));
    return nearest[count / 2];
}

void CellMeans::correct(PointSet& sample) {
    add_rows(batch_, all_);
    batch_.clear();
    Cells sampled(count_, width_, context_.memory());
    std::vector<std::vector<uint32_t>> rows(count_);
    add_rows(sample, sampled, [&](size_t row, size_t cell) { rows[cell].push_back(row); });
    std::vector<double> moved(width_);
    for (size_t c = 0; c < count_; c++) {
        if (!(sampled.weights[c] > 0)) continue;
        const double* const mean = all_.means.data() + c * width_;
        const double* const own = sampled.means.data() + c * width_;
        // Not true of numbers that overflow, either.
        if (!(squared_distance({mean, width_}, {own, width_}) <= spacing(sample, rows[c]))) continue;
        context_.for_each(rows[c].size(), units_of_row, [&](size_t n) {
            const uint32_t i = rows[c][n];
            Point point = sample[i];
            for (size_t f = 0; f < width_; f++) moved[f] = point.x[f] + (mean[f] - own[f]);
            point.x = moved;
            sample.put(i, point);
        });
    }
}

} // namespace btml::exemplar
