// Scores of losses with one score a row.
//
// Where the mean is e^score, few targets may be far above all others. The base is that of the others then, because
// trees would take hundreds of steps to come back to them from the mean of all. Rows with far derivatives count as rows
// of less weight do: both derivatives are divided by the same number, so that the step of a leaf of theirs stays.
#include "core/boosting/objectives/derived_scores.hpp"
#include "core/numbers/elementary.hpp"
#include "core/numbers/usual_range.hpp"

namespace btml::boosting {

namespace {

// Returns what the target would be without the offset.
double rate(double target, double offset) {
    return target * exponential(-offset);
}

class SingleScores final : public DerivedScores {
  public:
    SingleScores(const TrainingRows& training, Dataset& dataset, const LossOptions& options, ThreadTeam& team,
                 RunContext& context)
        : DerivedScores(training, dataset, options, team, context),
          link_(objective_of(options.objective).link),
          loss_(*objective_of(options.objective).loss),
          scores_(context.memory(), "scores", training.rows()) {
        check_targets(loss_.holds, loss_.valid_targets);
        const Buffer<double>* const offset = dataset.offset ? &dataset.offset->numbers : nullptr;
        if (offset) check_offset(*offset);
        if (link_ == Link::exponential) find_far_targets(offset);
        bases_ = options.bases;
        if (bases_.empty()) {
            bases_ = {rounded(find_base(offset), link_)};
            if (offset) fit_base(*offset);
        }
        set_scores(offset);
    }

    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override {
        add_values(leaves, index, scores_.data());
        derive_all();
    }

    HeldOutRow held_out_row(uint32_t row) const override {
        const double prediction = prediction_of(link_, static_cast<double>(scores_[row]) * unit);
        return {target(row), prediction, static_cast<double>(training_.weight(row)),
                (prediction > 0.5) == (target(row) > 0.5)};
    }

  private:
    static constexpr double unit = 1.0 / (int64_t{1} << score_bits);

    // Offsets beyond those that exp takes would not fit the grid of scores either.
    void check_offset(const Buffer<double>& offset) const {
        TeamSums<Largest> largest(team_);
        for_each_used_row(team_, training_, [&](uint32_t row, Role, int worker) {
            largest[worker] += {std::fabs(offset[training_.target_row(row)])};
        });
        const double found = largest.total().number;
        if (found <= max_exponent) return;
        throw Error(ErrorCode::out_of_range,
                    format("offset is %s in magnitude in a row, objective => '%s' takes at most %g",
                           shortest(found).c_str(), name_of(options_.objective), max_exponent),
                    {}, "It is added to the score before exp: of an exposure, give the logarithm.");
    }

    void find_far_targets(const Buffer<double>* offset) {
        const auto for_each_rate = [&](const auto& body) {
            for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
                const double own = offset ? (*offset)[training_.target_row(row)] : 0;
                body(rate(target(row), own), training_.weight(row), worker);
            });
        };
        most_usual_ = usual_range(static_cast<size_t>(team_.size()), team_.peers(), for_each_rate).upper();
        TeamSums<Largest> largest(team_);
        for_each_rate([&](double x, int64_t, int worker) { largest[worker] += {x}; });
        has_far_ = largest.total().number > most_usual_;
        if (offset) find_far_offsets(*offset);
    }

    // What e^offset is, as of an exposure, is usual or far.
    void find_far_offsets(const Buffer<double>& offset) {
        const auto for_each_exposure = [&](const auto& body) {
            for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
                body(exponential(offset[training_.target_row(row)]), training_.weight(row), worker);
            });
        };
        const double most = usual_range(static_cast<size_t>(team_.size()), team_.peers(), for_each_exposure).upper();
        most_usual_offset_ = std::isinf(most) ? most : logarithm(most);
        TeamSums<Largest> largest(team_);
        for_each_exposure([&](double x, int64_t, int worker) { largest[worker] += {x}; });
        has_far_ = has_far_ || largest.total().number > most;
    }

    // Returns a row's target, or that of the same rate by an offset that is not far, or the largest rate that is not
    // far.
    double usual_target(uint32_t row, const Buffer<double>* offset) const {
        const double own = offset ? (*offset)[training_.target_row(row)] : 0;
        const double of_row = rate(target(row), own);
        if (of_row <= most_usual_ && own <= most_usual_offset_) return target(row);
        return std::min(of_row, most_usual_) * exponential(std::min(own, most_usual_offset_));
    }

    // Returns the score of all rows that is best without offsets.
    double find_base(const Buffer<double>* offset) const {
        TeamSums<SumsByRole<ExactSum>> sums(team_);
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            sums[worker].trained.add(loss_weight(row) * usual_target(row, offset));
        });
        return loss_.base(sums.total().trained.value() / train_weight_, training_.train_rows());
    }

    // With offsets there is no formula: Newton's steps from there.
    void fit_base(const Buffer<double>& offset) {
        constexpr int max_steps = 2000; // of at most 1, between scores of ±700
        for (int step = 0; step < max_steps; step++) {
            TeamSums<WeightedSum<ExactSum>> sums(team_); // of residuals, and as their weight of hessians
            for_each_list([&](const RowList& rows, int worker) {
                DerivativeBlock block;
                block.rows = rows.count;
                for (size_t i = 0; i < rows.count; i++)
                    block.scores[i] = bases_[0] + std::min(offset[training_.target_row(rows[i])], most_usual_offset_);
                for (size_t i = rows.count; i % lanes != 0; i++) block.scores[i] = 0;
                load_targets(rows, block);
                if (has_far_)
                    for (size_t i = 0; i < rows.count; i++) block.targets[i] = usual_target(rows[i], &offset);
                loss_.derive(block, options_);
                for (size_t i = 0; i < rows.count; i++) {
                    if (training_.role(rows[i]) != Role::train) continue;
                    sums[worker].sum.add(loss_weight(rows[i]) * block.residuals[i]);
                    sums[worker].weight.add(loss_weight(rows[i]) * block.hessians[i]);
                }
            });
            const WeightedSum<ExactSum> total = sums.total();
            const double residual = total.sum.value();
            if (residual == 0) return; // where the hessian may be 0, too
            const double before = bases_[0], change = residual / total.weight.value();
            bases_[0] = rounded(before + std::clamp(change, -1.0, 1.0), link_);
            if (std::fabs(bases_[0] - before) < 1e-9) return;
        }
    }

    void set_scores(const Buffer<double>* offset) {
        const auto base = static_cast<int64_t>(std::ldexp(bases_[0], score_bits));
        for_each_row(team_, training_.rows(), [&](size_t row, int) {
            const double own = offset ? (*offset)[training_.target_row(static_cast<uint32_t>(row))] : 0;
            scores_[row] = base + std::llrint(std::ldexp(own, score_bits));
        });
        start_losses(derive_rows());
        derive_all();
    }

    Found derive(const RowList& rows) {
        Found found;
        DerivativeBlock block;
        block.rows = rows.count;
        load_scores(&scores_[rows.first], unit, rows.count, block.scores);
        load_targets(rows, block);
        loss_.derive(block, options_);
        keep(rows, block, found);
        return found;
    }

    Found derive_rows() {
        TeamSums<Found> found(team_);
        for_each_list([&](const RowList& rows, int worker) { found[worker] += derive(rows); });
        return found.total();
    }

    void derive_all() {
        Found found = derive_rows();
        set_losses(found);
        if (has_far_) bound_derivatives(found);
        choose_grids(found);
    }

    // Returns the largest magnitude beside which the median one has at least ten of a row's bits.
    double most_beside_usual(float Derivative::*part, int bits) const {
        const int usual_bits = 10 + training_.bits_for_light_rows();
        const int64_t median = weighted_quantile(0.5, 31, team_, [&](const auto& visit) {
            for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
                visit(std::bit_cast<int32_t>(std::fabs(derivatives_[row].*part)), training_.weight(row), worker);
            });
        });
        if (median == 0) return std::numeric_limits<float>::max();
        return std::ldexp(1, std::ilogb(std::bit_cast<float>(static_cast<int32_t>(median))) + bits - usual_bits);
    }

    void bound_derivatives(Found& found) {
        const double most_residual = most_beside_usual(&Derivative::residual, residual_bits());
        const double most_hessian = most_beside_usual(&Derivative::hessian, hessian_bits_);
        if (found.residual <= most_residual && found.hessian <= most_hessian) return;
        TeamSums<Found> bounded(team_);
        for_each_training_row(team_, training_, [&](uint32_t row, int worker) {
            Derivative& of = derivatives_[row];
            const double weight = std::min({1.0, most_residual / std::fabs(of.residual), most_hessian / of.hessian});
            of = {static_cast<float>(of.residual * weight), static_cast<float>(of.hessian * weight)};
            bounded[worker].residual = std::max(bounded[worker].residual, std::fabs(of.residual));
            bounded[worker].hessian = std::max(bounded[worker].hessian, of.hessian);
        });
        const Found all = bounded.total();
        found.residual = all.residual;
        found.hessian = all.hessian;
    }

    const Link link_;
    const DerivedLoss& loss_;
    Buffer<int64_t> scores_;
    double most_usual_ = std::numeric_limits<double>::infinity(); // of targets · e^-offset
    double most_usual_offset_ = std::numeric_limits<double>::infinity();
    bool has_far_ = false; // targets or offsets that are more
};

} // namespace

double logarithm_of_mean(double mean, uint64_t rows) {
    if (mean == 0) throw DegenerateTarget::of_number(0, logarithm(0.5 / static_cast<double>(rows)));
    return logarithm(mean);
}

std::unique_ptr<RowScores> start_single_scores(const TrainingRows& training, Dataset& dataset,
                                               const LossOptions& options, ThreadTeam& team, RunContext& context) {
    return start_scores<SingleScores>(training, dataset, options, team, context);
}

} // namespace btml::boosting
