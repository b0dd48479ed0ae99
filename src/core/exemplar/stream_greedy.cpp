#include "core/exemplar/stream_greedy.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace btml::exemplar {

namespace {

constexpr uint64_t validation_stream = 1, second_stream = 2, candidate_stream = 3, phantom_stream = 4;
constexpr double max_weight = 1e50;          // sums of them, times losses, are numbers
constexpr size_t candidates_per_thread = 16; // scored before the first of them may be swapped in

// Sets a weighted mean, and its standard error as an estimate of the mean over the rows sampled from: a row that is
// sampled with probability p adds (1 − p) times its squared deviation (Duffield, Lund, Thorup, section 2). One sampled
// row alone says nothing of its deviation.
void estimate_utility(const Objective& objective, const Reservoir& reservoir, Selection& selection) {
    const PointSet& sample = reservoir.points();
    double sum = 0, weights = 0, count = 0, root = 0;
    bool all = true; // the rows that count are there for sure
    for (size_t i = 0; i < sample.size(); i++) {
        const double utility = objective.utility_of(i);
        if (std::isnan(utility)) continue;
        sum += sample.weight(i) * utility;
        weights += sample.weight(i);
        count++;
        all = all && reservoir.probability(i) == 1;
    }
    if (!(weights > 0)) return;
    selection.utility = sum / weights;
    for (size_t i = 0; i < sample.size(); i++) {
        const double deviation = sample.weight(i) / weights * (objective.utility_of(i) - selection.utility);
        if (!std::isnan(deviation)) root = std::hypot(root, deviation * std::sqrt(1 - reservoir.probability(i)));
    }
    selection.utility_std_error = all         ? 0
                                  : count > 1 ? root * std::sqrt(count / (count - 1))
                                              : std::numeric_limits<double>::quiet_NaN();
}

void count_members(const Objective& objective, const PointSet& sample, double weight, Selection& selection,
                   RunContext& context) {
    const size_t k = selection.exemplars.size();
    std::vector<double> weights(k), sums(k);
    context.for_each(sample.size(), units_of_row, [&](size_t i) {
        const Nearest nearest = objective.nearest(i);
        weights[nearest.slot] += sample.weight(i);
        sums[nearest.slot] += sample.weight(i) * nearest.dissimilarity;
    });
    const double per_sampled = weight / sample.total_weight();
    for (size_t s = 0; s < k; s++) {
        selection.exemplars[s].members = weights[s] * per_sampled;
        if (weights[s] > 0) selection.exemplars[s].mean_dissimilarity = sums[s] / weights[s];
    }
}

// Measures what a set of exemplars is worth on rows that had no part in choosing it. `input.validation` has the points
// of `sample`, of rows whose weights add up to `weight`; where it has all of them, the standard error is 0, and where
// one sampled row alone counts it is NaN.
Selection evaluate(const ObjectiveInput& input, const PointSet& exemplars, const Reservoir& sample, double weight,
                   ThreadTeam& team, RunContext& context) {
    Selection selection;
    const std::unique_ptr<Objective> objective = make_objective(input, team, context);
    PointSet one(PointSet::Keep::sample, context.memory());
    for (size_t s = 0; s < exemplars.size(); s++) {
        context.poll();
        const Point exemplar = exemplars[s];
        one.put(0, exemplar);
        objective->load(one, team);
        objective->apply(0, s, team);
        const std::span<const double> x = exemplar.x;
        selection.exemplars.push_back(
            {std::string(exemplar.id), exemplar.has_id, {x.begin(), x.end()}, 0, std::nullopt});
    }
    estimate_utility(*objective, sample, selection);
    count_members(*objective, input.validation, weight, selection, context);
    return selection;
}

} // namespace

StreamGreedy::StreamGreedy(const Options& options, DissimilarityFunction* function, RunContext& context)
    : options_(options),
      function_(function),
      context_(context),
      team_(context),
      size_measure_(options),
      validation_(options.sample_size(), options.seed, validation_stream, context.memory()),
      second_(options.sample_size(), options.seed, second_stream, context.memory()),
      reference_(PointSet::Keep::sample, context.memory()),
      one_row_(PointSet::Keep::sample, context.memory()),
      batch_(PointSet::Keep::all, context.memory()),
      exemplars_(PointSet::Keep::all, context.memory()) {}

// Counts what exemplars and the rows of the sample so far make of it: too much is refused as soon as it is known.
void StreamGreedy::require_memory() const {
    const uint64_t rows = validation_.points().size(), width = validation_.points().width();
    const uint64_t k = options_.exemplars, batch = options_.batch;
    const uint64_t per_pair = options_.is_gp() ? 2 * sizeof(double) : sizeof(float);
    const uint64_t per_candidate = options_.is_gp() ? sizeof(double) : sizeof(float);
    const uint64_t points = (batch + k) * (width + 4) * sizeof(double);
    context_.memory().require(points + rows * (k * per_pair + batch * per_candidate + width * sizeof(double)),
                              "the choice of exemplars");
}

void StreamGreedy::sample(const Point& point) {
    rows_++;
    if (!(point.weight >= 0 && point.weight <= max_weight))
        throw Error(
            ErrorCode::out_of_range,
            format("row %" PRIu64 " of the points has the weight %s", point.number + 1, shortest(point.weight).c_str()),
            "", "Weights are numbers from 0 to 1e50.");
    if (point.weight == 0) return; // may be an exemplar, but counts for nothing
    const uint64_t sampled = validation_.offered(), all = options_.sample_size();
    if (sampled == all || (sampled < all && std::has_single_bit(sampled))) require_memory();
    const double size = size_measure_.of(point);
    weight_ += point.weight;
    validation_.offer(point, size);
    second_.offer(point, size);
}

bool StreamGreedy::start() {
    if (rows_ == 0) return false;
    if (validation_.offered() == 0)
        throw Error(ErrorCode::invalid_argument, "the weights of the points add up to zero", "",
                    "Some row must have a weight above 0.");
    if (validation_.has_all()) require_memory();
    context_.progress("preparing", 0, 0);
    validation_.finish();
    second_.finish();
    const PointSet& points = validation_.points();
    if (options_.is_gp()) kernel_ = choose_kernel(options_, points, team_, context_);
    make_reference();
    // The reference is a row by its place in the sample, so that it comes before places change.
    if (options_.racing) large_rows_ = validation_.shuffle(context_);
    if (options_.objective == ObjectiveKind::information) {
        Point point = points[0];
        point.weight = 1;
        one_row_.append(point);
    }
    const PointSet& scored_on = one_row_.size() > 0 ? one_row_ : points;
    max_candidates_ = options_.candidates(rows_);
    objective_ = make_objective(
        {options_, scored_on, validation_.has_all(), &reference_, &kernel_, function_, max_candidates_, large_rows_},
        team_, context_);
    return true;
}

// Draws a row by weight, so that it is one of all rows where they are a sample.
size_t StreamGreedy::random_row(const PointSet& rows) const {
    double left = RandomStream(options_.seed, phantom_stream).unit() * rows.total_weight();
    size_t row = 0;
    while (row + 1 < rows.size() && left >= rows.weight(row)) left -= rows.weight(row++);
    return row;
}

// Makes the phantom exemplar or, without one, what utilities are measured against.
void StreamGreedy::make_reference() {
    if (options_.is_gp()) return;
    const PointSet& rows = validation_.points();
    const size_t width = rows.width();
    const bool cosine = options_.metric == Metric::cosine;
    std::vector<double> x(width, 0.0);
    if (options_.phantom == PhantomKind::point) {
        if (options_.phantom_point.size() != width)
            throw Error(ErrorCode::invalid_argument,
                        format("the phantom exemplar has %zu coordinates, the points have %zu",
                               options_.phantom_point.size(), width));
        x = options_.phantom_point;
    } else if (options_.phantom == PhantomKind::none || options_.phantom == PhantomKind::mean) {
        double weights = 0;
        context_.for_each(rows.size(), units_of_row, [&](size_t i) {
            weights += rows.weight(i);
            for (size_t f = 0; f < width; f++) x[f] += (rows.x(i)[f] - x[f]) * rows.weight(i) / weights;
        });
    }
    const bool zero = std::all_of(x.begin(), x.end(), [](double value) { return value == 0; });
    if (cosine && zero && options_.phantom != PhantomKind::none && options_.phantom != PhantomKind::random)
        throw Error(ErrorCode::invalid_argument, "the phantom exemplar is zero, so it has no direction", "",
                    "Use another phantom, or another dissimilarity than \"cosine\".");
    const bool no_mean =
        options_.phantom == PhantomKind::none && (options_.metric == Metric::function || (cosine && zero));
    if (options_.phantom == PhantomKind::random || no_mean)
        reference_.append(rows[random_row(rows)]);
    else
        reference_.append({.x = x});
}

// Takes as many rows of all passes as the budget allows, each with the same probability (Knuth, The Art of Computer
// Programming 3.4.2, algorithm S).
bool StreamGreedy::is_candidate() {
    const uint64_t rows = rows_ * static_cast<uint64_t>(options_.passes);
    if (max_candidates_ >= rows || offered_ > rows) return candidates_ < max_candidates_;
    const double left = rows - offered_ + 1;
    return left * random_unit(options_.seed, candidate_stream, offered_) <
           static_cast<double>(max_candidates_ - candidates_);
}

bool StreamGreedy::offer(const Point& point) {
    offered_++;
    if (is_candidate()) {
        candidates_++;
        if (!exemplar_numbers_.contains(point.number)) batch_.append(point);
        if (batch_.size() == static_cast<size_t>(options_.batch)) take_batch();
    }
    return may_change();
}

bool StreamGreedy::finish_pass() {
    take_batch();
    return ++pass_ < options_.passes && may_change();
}

// Once as many candidates as there are rows have changed nothing, others are not expected to.
bool StreamGreedy::may_change() const {
    return candidates_ < max_candidates_ && candidates_ - last_change_ <= rows_;
}

void StreamGreedy::take_batch() {
    if (batch_.size() == 0) return;
    context_.share_progress("choosing exemplars", offered_, rows_ * static_cast<uint64_t>(options_.passes));
    objective_->load(batch_, team_);
    taken_.assign(batch_.size(), false);
    const size_t before = objective_->size(), most = options_.exemplars;
    if (before < most) add_from_batch();
    // A set that no candidate adds to may still gain by swaps: predictions do not always gain by more exemplars.
    if (objective_->size() == most || objective_->size() == before) swap_through_batch();
    context_.note(format("%" PRIu64 " rows, %zu exemplars, %" PRIu64 " swaps, utility of the sample %g", offered_,
                         objective_->size(), swaps_, objective_->utility()));
    batch_.clear();
}

// Adds greedily, each time the candidate that gains most. Where there is room for all of them, in their order.
void StreamGreedy::add_from_batch() {
    const size_t most = options_.exemplars;
    const bool in_order = batch_.size() <= most - objective_->size();
    std::vector<Change> changes(batch_.size());
    for (size_t n = 0; n < batch_.size() && objective_->size() < most; n++) {
        const size_t first = in_order ? n : 0, last = in_order ? n + 1 : batch_.size();
        objective_->score(first, last, true, changes, team_);
        size_t best = last;
        for (size_t c = first; c < last; c++)
            if (!taken_[c] && (best == last || changes[c].gain > changes[best].gain)) best = c;
        // The first exemplar is better than none, whatever the reference.
        if (changes[best].gain > 0 || objective_->size() == 0)
            take(best, objective_->size());
        else if (!in_order)
            return;
    }
}

void StreamGreedy::swap_through_batch() {
    const double min_gain = std::max(options_.eta, objective_->least_gain());
    const size_t block = candidates_per_thread * static_cast<size_t>(team_.size());
    std::vector<Change> changes(batch_.size());
    for (size_t next = 0; next < batch_.size();) {
        const size_t last = std::min(next + block, batch_.size());
        objective_->score(next, last, false, changes, team_);
        while (next < last && (taken_[next] || !(changes[next].gain > min_gain))) next++;
        if (next == last) continue;
        take(next, changes[next].slot);
        swaps_++;
        next++;
    }
}

void StreamGreedy::take(size_t candidate, size_t slot) {
    objective_->apply(candidate, slot, team_);
    taken_[candidate] = true;
    last_change_ = candidates_;
    if (slot < exemplars_.size()) exemplar_numbers_.erase(exemplars_.number(slot));
    exemplars_.put(slot, batch_[candidate]);
    exemplar_numbers_.insert(batch_.number(candidate));
}

Selection StreamGreedy::finish() {
    context_.progress("measuring", 0, 0);
    Selection selection;
    if (exemplars_.size() > 0) {
        const double utility = objective_->utility();
        const bool is_estimate = objective_->is_estimate();
        objective_.reset(); // its memory goes to the objective on the second sample
        selection = evaluate({options_, second_.points(), true, &reference_, &kernel_, function_}, exemplars_, second_,
                             weight_, team_, context_);
        if (!is_estimate) selection.utility = utility, selection.utility_std_error = 0;
    }
    selection.rows = rows_;
    selection.candidates = candidates_;
    selection.swaps = swaps_;
    return selection;
}

} // namespace btml::exemplar
