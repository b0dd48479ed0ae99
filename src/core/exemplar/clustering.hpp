// Exemplar-based clustering minimises the mean dissimilarity of the rows to their nearest exemplar.
#pragma once

#include "core/exemplar/dissimilarities.hpp"
#include "core/exemplar/exemplar_objective.hpp"
#include "core/exemplar/racing.hpp"
#include "core/exemplar/row_weights.hpp"

#include <optional>

namespace btml::exemplar {

// Maximises F(A) = L({x0}) − L(A ∪ {x0}), where L is the mean over rows of the least dissimilarity (equations 3.5 and
// 3.6 of the paper).
// Every row knows its nearest and second-nearest exemplar, so all swaps of a candidate are scored together, at a cost
// in proportion to rows plus exemplars (Schubert, Rousseeuw: Fast and eager k-medoids clustering, 2021).
class Clustering : public Objective {
  public:
    Clustering(const ObjectiveInput& input, ThreadTeam& team, RunContext& context);

    size_t size() const override { return size_; }
    void load(const PointSet& candidates, ThreadTeam& team) override;
    void score(size_t first, size_t last, bool add, std::span<Change> best, ThreadTeam& team) override;
    void apply(size_t candidate, size_t slot, ThreadTeam& team) override;
    double utility() const override;
    double least_gain() const override;
    double utility_of(size_t row) const override;
    Nearest nearest(size_t row) const override;

  private:
    struct Race;

    Change score_one(const float* distances, size_t own, bool add) const;
    bool can_race() const;
    void race(size_t first, size_t last, std::span<Change> best, ThreadTeam& team);
    void look(const float* distances, size_t first, size_t last, Race& race) const;
    std::optional<Change> decide(const Race& race) const;
    // Calls body(first row, last row) for the rows at the places `first` to `last` of the order that races take them
    // in: those that count for much, then the others, beginning with first_row_.
    template <class Body>
    void for_rows(size_t first, size_t last, Body&& body) const {
        if (first < large_) body(first, std::min(last, large_));
        first = std::max(first, large_);
        const size_t before_wrap = large_ + stride_ - first_row_;
        if (first < std::min(last, before_wrap))
            body(first_row_ + first - large_, first_row_ + std::min(last, before_wrap) - large_);
        if (last > before_wrap) body(large_ + std::max(first, before_wrap) - before_wrap, large_ + last - before_wrap);
    }
    double loss_without_nearest(size_t row) const {
        return second_[row] == std::numeric_limits<float>::infinity() ? reference_[row] : second_[row];
    }
    // Returns what the removal of the row's nearest exemplar adds to the sum of the losses.
    double removal_of(size_t row) const { return weight_[row] * (loss_without_nearest(row) - nearest_[row]); }
    void load_group(size_t group, size_t places, ThreadTeam& team);
    void finish_group(size_t group, size_t places);
    float* to_slot(size_t slot) { return to_exemplars_.data() + slot * stride_; }
    const float* to_slot(size_t slot) const { return to_exemplars_.data() + slot * stride_; }
    void set_phantom();
    void rank_exemplars(size_t row);
    void finish_change();

    RunContext& context_;
    const bool has_all_;
    const std::unique_ptr<Dissimilarities> dissimilarities_;
    const size_t rows_, stride_;
    const size_t large_;                  // so many of the first rows count for much, or fill up their last vector
    const size_t group_size_;             // so many candidates cost no more together than one alone
    const size_t phantom_slot_, no_slot_; // are those of a phantom exemplar, and of rows without any
    const double total_weight_;
    const PointSet& validation_;
    size_t size_ = 0;
    const PointSet* candidates_ = nullptr;
    RowWeights weight_;
    std::vector<uint64_t> exemplar_numbers_; // goes by slot
    Buffer<float> to_exemplars_;             // goes by slot, then by row; the last slot is the phantom's
    Buffer<float> to_candidates_;
    std::vector<size_t> loaded_;     // says for each group of candidates how many places have their dissimilarities
    Buffer<float> reference_;        // is each row's loss without any exemplar
    Buffer<float> nearest_, second_; // are infinite where there is no nearest or second-nearest exemplar
    Buffer<uint32_t> slot_, second_slot_;
    std::vector<double> removal_; // says by slot what its removal adds to the sum of the rows' losses
    const double eta_;            // is the option eta, as it applies to the sum of the losses
    const uint64_t seed_;
    const std::optional<RaceBounds> bounds_; // are those of races, if there are any
    uint64_t batches_ = 0;
    // Where races begin: elsewhere for each batch, since exemplars fit the rows that they were tried on.
    size_t first_row_ = large_;
};

} // namespace btml::exemplar
