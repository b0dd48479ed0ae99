#include "core/exemplar/clustering.hpp"

#include "core/exemplar/row_loops.hpp"

#include "core/numbers/rng.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>

namespace btml::exemplar {

namespace {

constexpr float none = std::numeric_limits<float>::infinity();
constexpr size_t lanes = Dissimilarities::lanes;
constexpr size_t rows_at_once = 1024;
constexpr uint64_t race_stream = 0x72616365; // "race"

} // namespace

Clustering::Clustering(const ObjectiveInput& input, ThreadTeam& team, RunContext& context)
    : context_(context),
      has_all_(input.has_all),
      dissimilarities_(make_dissimilarities(input.options.metric, input.validation, input.function, context)),
      rows_(input.validation.size()),
      stride_(dissimilarities_->stride()),
      large_(std::min((input.large_rows + lanes - 1) / lanes * lanes, stride_)),
      group_size_(input.function ? 1 : Dissimilarities::points_per_group),
      phantom_slot_(input.options.exemplars),
      no_slot_(phantom_slot_ + 1),
      total_weight_(input.validation.total_weight()),
      validation_(input.validation),
      weight_(validation_, RowWeights::of_sample(has_all_), context.memory()),
      exemplar_numbers_(phantom_slot_),
      to_exemplars_(context.memory(), "dissimilarities to exemplars", (phantom_slot_ + 1) * stride_),
      to_candidates_(context.memory(), "dissimilarities to candidates"),
      reference_(context.memory(), "dissimilarities", dissimilarities_->room(1), 0.0F),
      nearest_(context.memory(), "dissimilarities", stride_, 0.0F),
      second_(context.memory(), "dissimilarities", stride_, -1.0F), // what pads a vector is near to nothing
      slot_(context.memory(), "nearest exemplars", rows_, 0U),
      second_slot_(context.memory(), "nearest exemplars", rows_, 0U),
      removal_(no_slot_ + 1),
      eta_(input.options.eta * total_weight_ / dissimilarities_->unit()),
      seed_(input.options.seed),
      bounds_(input.options.racing && large_ < rows_
                  ? std::optional<RaceBounds>(std::in_place, rows_ - large_, input.candidates * phantom_slot_,
                                              input.options.confidence)
                  : std::nullopt) {
    dissimilarities_->compute(*input.reference, 0, 1, reference_.data(), team);
    std::fill_n(to_slot(phantom_slot_), stride_, none);
    if (input.options.phantom != PhantomKind::none) set_phantom();
    for (size_t row = 0; row < rows_; row++) rank_exemplars(row);
    finish_change();
}

void Clustering::set_phantom() {
    for (size_t i = 0; i < rows_; i++)
        if (!std::isfinite(reference_[i]))
            throw Error(
                ErrorCode::out_of_range,
                format("the phantom exemplar is too far from row %" PRIu64 " of the points", validation_.number(i) + 1),
                "", "Use one that is at most 1e15 times as far from the points as these are from each other.");
    std::copy_n(reference_.data(), rows_, to_slot(phantom_slot_));
}

void Clustering::load(const PointSet& candidates, ThreadTeam& team) {
    candidates_ = &candidates;
    to_candidates_.resize(dissimilarities_->room(candidates.size()));
    loaded_.assign((candidates.size() + group_size_ - 1) / group_size_, 0);
    if (bounds_) {
        first_row_ = large_ + random_bits(seed_, race_stream, batches_++) % ((stride_ - large_) / lanes) * lanes;
        return;
    }
    dissimilarities_->compute(candidates, 0, candidates.size(), to_candidates_.data(), team);
    for (size_t group = 0; group < loaded_.size(); group++) finish_group(group, stride_);
}

// Leaves out the row of a candidate itself and those that pad a vector.
void Clustering::finish_group(size_t group, size_t places) {
    loaded_[group] = places;
    for (size_t c = group * group_size_; c < std::min((group + 1) * group_size_, candidates_->size()); c++) {
        float* const distances = to_candidates_.data() + c * stride_;
        if (const size_t own = weight_.own_row(candidates_->number(c)); own != RowWeights::no_row)
            distances[own] = none;
        std::fill(distances + rows_, distances + stride_, none);
    }
}

void Clustering::load_group(size_t group, size_t places, ThreadTeam& team) {
    if (loaded_[group] >= places) return;
    const size_t first = group * group_size_, count = std::min(group_size_, candidates_->size() - first);
    for_rows(loaded_[group], places, [&](size_t first_row, size_t last_row) {
        dissimilarities_->compute(*candidates_, first, count, {first_row, last_row},
                                  to_candidates_.data() + first * stride_, team);
    });
    finish_group(group, places);
}

void Clustering::score(size_t first, size_t last, bool add, std::span<Change> best, ThreadTeam& team) {
    if (bounds_ && !add && can_race()) return race(first, last, best, team);
    for (size_t group = first / group_size_; group * group_size_ < last; group++) load_group(group, stride_, team);
    team.for_each(last - first, [&](size_t item, int) {
        const size_t c = first + item;
        best[c] = score_one(to_candidates_.data() + c * stride_, weight_.own_row(candidates_->number(c)), add);
    });
}

// The loss of removing slot s while the candidate comes is removal_[s], corrected for rows nearer to the candidate than
// to their second-nearest exemplar. The paper's bookkeeping (8.3 to 8.5) adds o_i − m_i where min(o_i, d) − m_i is
// meant. own: the candidate's own row, which does not count.
Change Clustering::score_one(const float* distances, size_t own, bool add) const {
    std::vector<double> corrections(no_slot_ + 1);
    double shared = 0;
    if (own != RowWeights::no_row) corrections[slot_[own]] -= removal_of(own);
    uint32_t near[rows_at_once + 1];
    for (size_t from = 0; from < stride_; from += rows_at_once) {
        const size_t rows = std::min(rows_at_once, stride_ - from);
        const size_t count = find_near(distances + from, second_.data() + from, rows, near);
        for (size_t n = 0; n < count; n++) {
            const size_t i = from + near[n];
            const double weight = weight_[i], d = distances[i], m = nearest_[i];
            if (slot_[i] == no_slot_) {
                shared += weight * (d - m);
                continue;
            }
            const double with = std::min(d, m);
            shared += weight * (with - m);
            corrections[slot_[i]] += weight * (d - with - (loss_without_nearest(i) - m));
        }
    }
    if (add) return {size_, -shared * dissimilarities_->unit() / total_weight_};
    Change best{Change::nothing, -std::numeric_limits<double>::infinity()};
    for (size_t s = 0; s < size_; s++)
        if (const double gain = -(shared + removal_[s] + corrections[s]); gain > best.gain) best = {s, gain};
    best.gain *= dissimilarities_->unit() / total_weight_;
    return best;
}

void Clustering::apply(size_t candidate, size_t slot, ThreadTeam& team) {
    load_group(candidate / group_size_, stride_, team);
    std::copy_n(to_candidates_.data() + candidate * stride_, stride_, to_slot(slot));
    if (slot < size_) weight_.leave(exemplar_numbers_[slot]);
    exemplar_numbers_[slot] = candidates_->number(candidate);
    weight_.enter(exemplar_numbers_[slot]);
    size_ = std::max(size_, slot + 1);
    const uint32_t changed = slot;
    const float* const distances = to_slot(slot);
    context_.for_each(rows_, units_of_row, [&](size_t i) {
        if (slot_[i] == changed || second_slot_[i] == changed || slot_[i] == no_slot_)
            rank_exemplars(i);
        else if (const float d = distances[i]; d < nearest_[i]) {
            second_[i] = nearest_[i], second_slot_[i] = slot_[i];
            nearest_[i] = d, slot_[i] = changed;
        } else if (d < second_[i])
            second_[i] = d, second_slot_[i] = changed;
    });
    finish_change();
}

void Clustering::rank_exemplars(size_t row) {
    float first = none, second = none;
    size_t first_slot = no_slot_, second_slot = no_slot_;
    const auto meet = [&](size_t s) {
        const float d = to_exemplars_[s * stride_ + row];
        if (d < first)
            second = first, second_slot = first_slot, first = d, first_slot = s;
        else if (d < second)
            second = d, second_slot = s;
    };
    for (size_t s = 0; s < size_; s++) meet(s);
    meet(phantom_slot_);
    nearest_[row] = first == none ? reference_[row] : first;
    second_[row] = second;
    slot_[row] = first_slot;
    second_slot_[row] = second_slot;
}

void Clustering::finish_change() {
    std::fill(removal_.begin(), removal_.end(), 0.0);
    for (size_t i = 0; i < rows_; i++) removal_[slot_[i]] += removal_of(i);
}

double Clustering::utility() const {
    return weight_.mean([this](size_t row) { return utility_of(row); });
}

// Gains are sums of differences of losses. Those of rows far from all others, and how far the point is that utilities
// are measured against, have no part in what rounds the others' sums.
double Clustering::least_gain() const {
    const UsualRange usual = usual_range([this](const auto& body) {
        for (size_t row = 0; row < rows_; row++) body(loss_without_nearest(row));
    });
    const double loss = weight_.mean([&](size_t row) {
        const double loss_of_row = loss_without_nearest(row);
        return usual.contains(loss_of_row) ? loss_of_row : 0;
    });
    return min_relative_gain * loss * dissimilarities_->unit();
}

double Clustering::utility_of(size_t row) const {
    return (static_cast<double>(reference_[row]) - nearest_[row]) * dissimilarities_->unit();
}

Nearest Clustering::nearest(size_t row) const {
    Nearest result{0, std::numeric_limits<double>::infinity()};
    for (size_t s = 0; s < size_; s++)
        if (const double d = to_slot(s)[row]; d < result.dissimilarity) result = {s, d};
    result.dissimilarity *= dissimilarities_->unit();
    return result;
}

} // namespace btml::exemplar
