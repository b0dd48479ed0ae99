// Races between the swaps of clustering, and between a swap and none.
#include "core/exemplar/clustering.hpp"

#include <cmath>
#include <numbers>

namespace btml::exemplar {

namespace {

constexpr size_t first_size = 256;
constexpr double range_factor = 7.0 / 3 + 3 / std::numbers::sqrt2;

} // namespace

// Each look at a race takes two bounds, either of which fails with five times what its logarithm is of.
RaceBounds::RaceBounds(size_t population, uint64_t races, double confidence)
    : population_(population),
      log_term_(std::log(10 * static_cast<double>(looks()) * static_cast<double>(std::max<uint64_t>(races, 1)) /
                         (1 - confidence))) {}

// Three quarters of the rows are as good as all: the last look may be at less than twice as many rows as the one
// before.
size_t RaceBounds::next_size(size_t size) const {
    const size_t next = std::max(first_size, 2 * size);
    return next > population_ / 4 * 3 ? population_ : next;
}

size_t RaceBounds::looks() const {
    size_t looks = 0;
    for (size_t size = 0; size < population_; size = next_size(size)) looks++;
    return looks;
}

double RaceBounds::deviation(const DrawnNumbers& numbers) const {
    const double n = numbers.count, all = population_, mean = numbers.sum / n;
    if (n >= all) return 0;
    const double variance = std::max(numbers.sum_of_squares / n - mean * mean, 0.0);
    const double left = n <= all / 2 ? 1 - (n - 1) / all : (1 - n / all) * (1 + 1 / n);
    return std::sqrt(2 * left * variance * log_term_ / n) + range_factor * numbers.range * log_term_ / n;
}

// Holds what the rows looked at so far would gain by a candidate: in whichever slot it comes, and by slot what is to be
// added to that for the rows that lose their nearest exemplar then.
struct Clustering::Race {
    struct Slot {
        double sum = 0, squares = 0, least = 0, most = 0;
        double known = 0; // is the gain of the rows that count for much
    };

    explicit Race(size_t slots) : by_slot(slots) {}

    // Their range is that of the rows looked at: nobody knows more, and what is known of all rows, that a gain is from
    // m_i − o_i to m_i, is too wide to be of use.
    DrawnNumbers numbers(size_t slot) const {
        const Slot& own = by_slot[slot];
        return {rows, sum + own.sum, squares + own.squares, std::max(most, own.most) - own.least};
    }

    // The rows so far are no sample, but known as they are.
    void end_known() {
        for (Slot& slot : by_slot) slot = Slot{.known = sum + slot.sum};
        rows = sum = squares = most = 0;
    }

    bool open = true;
    double rows = 0, sum = 0, squares = 0, most = 0;
    std::vector<Slot> by_slot;
};

// Says whether every row has two exemplars, its own row not counted: one is left to it after any swap.
bool Clustering::can_race() const {
    return size_ > 2 || (size_ == 2 && has_all_);
}

void Clustering::race(size_t first, size_t last, std::span<Change> best, ThreadTeam& team) {
    std::vector<Race> races(last - first, Race(no_slot_ + 1));
    const size_t places = stride_ - large_;
    for (size_t size = 0; size < places;) {
        size_t next = bounds_->next_size(size);
        if (next == rows_ - large_) next = places;
        for (size_t c = first; c < last; c++)
            if (races[c - first].open) load_group(c / group_size_, large_ + next, team);
        team.for_each(races.size(), [&](size_t item, int) {
            Race& race = races[item];
            if (!race.open) return;
            const float* const distances = to_candidates_.data() + (first + item) * stride_;
            const auto look_at = [&](size_t from, size_t to) { look(distances, from, std::min(to, rows_), race); };
            if (size == 0) for_rows(0, large_, look_at), race.end_known();
            for_rows(large_ + size, large_ + next, look_at);
            const std::optional<Change> change = decide(race);
            if (change) best[first + item] = *change;
            race.open = !change;
        });
        size = next;
    }
}

void Clustering::look(const float* distances, size_t first, size_t last, Race& race) const {
    for (size_t i = first; i < last; i++) {
        const double d = distances[i], m = nearest_[i];
        const double weight = std::isinf(d) ? 0 : weight_[i]; // the candidate's own row
        const double gain = weight * std::max(m - d, 0.0), own = weight * (m - std::min(loss_without_nearest(i), d));
        Race::Slot& slot = race.by_slot[slot_[i]];
        race.rows++;
        race.sum += gain;
        race.squares += gain * gain;
        race.most = std::max(race.most, gain);
        slot.sum += own - gain;
        slot.squares += own * own - gain * gain;
        slot.least = std::min(slot.least, own);
        slot.most = std::max(slot.most, own);
    }
}

// Returns nothing where more rows are needed.
std::optional<Change> Clustering::decide(const Race& race) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const double rows = rows_ - large_;
    size_t slot = Change::nothing;
    double gain = -infinite, least = -infinite, most = -infinite;
    for (size_t s = 0; s < size_; s++) {
        const DrawnNumbers numbers = race.numbers(s);
        const double estimate = race.by_slot[s].known + rows * numbers.sum / numbers.count;
        const double deviation = rows * bounds_->deviation(numbers);
        most = std::max(most, estimate + deviation);
        if (estimate - deviation > least) least = estimate - deviation, slot = s, gain = estimate;
    }
    if (least > eta_) return Change{slot, gain * dissimilarities_->unit() / total_weight_};
    if (most <= eta_) return Change{Change::nothing, -infinite};
    return std::nullopt;
}

} // namespace btml::exemplar
