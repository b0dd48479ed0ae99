#include "core/gp/additive/sum_sampler.hpp"

#include "core/gp/additive/sum_members.hpp"
#include "core/numbers/rng.hpp"

namespace btml::gp {

namespace {

AdditiveCovariance covariance_of(const SumModel::Parts& parts, const TrainingColumns& rows, ThreadTeam& team,
                                 RunContext& context) {
    return {members_for(parts, rows.views(), context), rows.weight.span(), parts.noise, team, context};
}

TrainingColumns with_points(const TrainingColumns& rows, std::span<const double> values, RunContext& context) {
    TrainingColumns all = copy(rows, context);
    const size_t width = rows.features.size();
    for (size_t at = 0; at < values.size(); at += width) add_row(all, values.subspan(at, width), 0);
    return all;
}

// Sixteen independent draws of a member's Gaussian process are added to y, by row.
void add_draws(const MemberTree& tree, const Covariances& c, uint64_t seed, uint64_t stream, Block& values, Block& y) {
    values.resize(tree.nodes());
    const auto go_down = [&](size_t node, size_t level_above, const Columns& above) {
        const double deviation = std::sqrt(c[tree.level(node)] - c[level_above]);
        for (size_t column = 0; column < Columns::count; column++)
            values[node].values[column] =
                above[column] +
                static_cast<float>(deviation * random_normal(seed, stream, node * Columns::count + column));
    };
    go_down(0, 0, Columns{});
    const uint32_t* row = tree.sorted_rows();
    for (size_t node = 0; node < tree.nodes(); node++) {
        const Columns value = values[node];
        if (tree.is_leaf(node)) {
            for (size_t i = 0; i < tree.rows_of(node); i++) y[*row++].values += value.values;
        } else {
            go_down(node + 1, tree.level(node), value);
            go_down(tree.right(node), tree.level(node), value);
        }
    }
}

} // namespace

SumSampler::SumSampler(SumModel& model, std::span<const double> values, RunContext& context)
    : parts_(model.parts()),
      context_(context),
      team_(context, static_cast<int>(parts_.members.size())),
      means_(context.memory(), "draws"),
      observed_(covariance_of(parts_, parts_.rows, team_, context)),
      all_(covariance_of(parts_, with_points(parts_.rows, values, context), team_, context)),
      solver_(observed_, context),
      sample_(context.memory(), "draws"),
      product_(context.memory(), "draws") {
    const size_t width = parts_.rows.features.size();
    for (size_t at = 0; at < values.size(); at += width) means_.push_back(model.latent(values.subspan(at, width)).mean);
}

void SumSampler::solve(uint64_t seed, uint64_t block) {
    const size_t rows = observed_.rows(), members = parts_.members.size();
    const uint64_t stream = block * (members + 1); // of this block's first member
    sample_.resize(all_.rows());
    std::fill(sample_.begin(), sample_.end(), Columns{});
    for (size_t m = 0; m < members; m++) {
        context_.poll();
        add_draws(all_.members()[m].tree, all_.covariances(m), seed, stream + m, product_, sample_);
    }
    Block observations(context_.memory(), "draws", rows), solution(context_.memory(), "draws", rows, Columns{});
    for (size_t i = 0; i < rows; i++) {
        const double deviation = std::sqrt(parts_.noise / parts_.rows.weight_of(i));
        for (size_t column = 0; column < Columns::count; column++)
            observations[i].values[column] =
                sample_[i][column] +
                static_cast<float>(deviation * random_normal(seed, stream + members, i * Columns::count + column));
    }
    residuals_ = solver_
                     .solve(observations, solution, ConjugateGradients::model_tolerance,
                            ConjugateGradients::model_passes, context_)
                     .residuals;
    solution.resize(all_.rows());
    std::fill(solution.begin() + rows, solution.end(), Columns{});
    all_.multiply(solution, product_);
    for (size_t i = rows; i < all_.rows(); i++) sample_[i].values -= product_[i].values;
    seed_ = seed;
    block_ = block;
}

void SumSampler::require_solved(uint64_t draw) const {
    const double residual = residuals_[draw % Columns::count];
    if (residual <= ConjugateGradients::max_residual) return;
    throw Error(ErrorCode::limit_exceeded,
                format("draw %" PRIu64
                       " of the sum of %zu kernels is not solved, with a residual of %.2g where at most %g is "
                       "accepted",
                       draw + 1, parts_.members.size(), residual, ConjugateGradients::max_residual),
                {},
                "Fit the model anew with btml.gp_fit, with more noise or with combine => 'mixture', whose draws are "
                "exact.");
}

void SumSampler::draw(uint64_t seed, uint64_t draw, std::span<double> values) {
    const uint64_t block = draw / Columns::count;
    if (block != block_ || seed != seed_) solve(seed, block);
    require_solved(draw);
    const double factor = std::sqrt(parts_.calibration);
    for (size_t p = 0; p < points(); p++)
        values[p] = means_[p] + factor * static_cast<double>(sample_[observed_.rows() + p][draw % Columns::count]);
}

} // namespace btml::gp
