#include "core/gp/update.hpp"

#include "core/gp/additive/sum_training.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/gp/outside.hpp"
#include "core/gp/tree/row_sorter.hpp"
#include "core/numbers/number.hpp"

#include <cmath>

namespace btml::gp {

namespace {

void require_known(const Model& model, std::span<const double> features) {
    const Encoding& encoding = *model.encoding();
    for (size_t f = 0; f < features.size(); f++) {
        if (encoding.value_bits(f, features[f]).known == encoding.features()[f].bits()) continue;
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" is %s that no training row has", model.features[f].name.c_str(),
                           is_null(features[f]) ? "NULL, a value" : "a category"),
                    "The model has no bits to tell it from other values.", "Train a model on rows that have it.");
    }
}

// An observation at a point that is like no row says nothing of any other.
void require_comparable(const Model& model, std::span<const double> features) {
    const Coordinates& coordinates = std::get<SparseModel>(model.posterior).coordinates();
    const std::optional<size_t> feature = coordinates.unlike(features);
    if (!feature) return;
    throw Error(ErrorCode::invalid_argument,
                format("feature \"%s\" is %s", model.features[*feature].name.c_str(),
                       is_null(features[*feature]) ? "NULL, a value that no training row has" : "no finite number"),
                "A smooth kernel cannot compare the point with others.");
}

[[noreturn]] void refuse_last() {
    throw Error(ErrorCode::invalid_argument, "the only observation of a model cannot be removed");
}

// A row of the fit weighs by what the others say of its noise, and nothing keeps that weight.
[[noreturn]] void refuse_unknown_weight() {
    throw Error(ErrorCode::not_supported, "a model whose noise varies gives no observation back",
                "A mixture and a smooth kernel do not keep the weight that a row of the fit had.",
                "Train the model again, or use a sum of kernels.");
}

[[noreturn]] void refuse(const char* why) {
    throw Error(ErrorCode::invalid_argument, "the observation to remove is not in the model", why);
}

// Holds an observation as one at a point within the ranges.
struct Seen {
    double target, weight;
    double max_ratio; // of a row's weight to this one: rows of the fit weigh by what the others say of their noise
};

// Returns the row whose weight is nearest, of several that are the observation.
size_t find_row(const TrainingColumns& rows, std::span<const double> features, const Seen& seen_at,
                RunContext& context) {
    static constexpr double same = 1e-9; // two values of one observation, as written down at two times
    std::vector<double> values(features.size());
    bool seen = false;
    double nearest = std::numeric_limits<double>::infinity();
    std::optional<size_t> found;
    for (size_t row = 0; row < rows.rows(); row++) {
        context.worked(16);
        rows.read_row(row, values);
        const bool equal = std::equal(values.begin(), values.end(), features.begin(), [](double a, double b) {
            return a == b || (std::isnan(a) && std::isnan(b) && is_null(a) == is_null(b));
        });
        seen |= equal;
        const double apart = std::abs(rows.target[row] - seen_at.target);
        const double ratio = rows.weight_of(row) / seen_at.weight, heavier = std::max(ratio, 1 / ratio);
        if (!equal || apart > same * (1 + std::abs(seen_at.target)) || heavier > (1 + same) * seen_at.max_ratio ||
            heavier >= nearest)
            continue;
        nearest = heavier;
        found = row;
    }
    if (found) return *found;
    refuse(seen ? "Those with these features have another target or weight." : "No observation has these features.");
}

void change_rows(TrainingColumns& rows, std::span<const double> features, const Seen& seen, bool more,
                 RunContext& context) {
    if (more) {
        add_row(rows, features, seen.target, seen.weight);
        return;
    }
    const size_t row = find_row(rows, features, seen, context);
    if (rows.rows() == 1) refuse_last();
    take_row(rows, row);
}

// Adds or removes one observation, with its target on the scale.
struct Change {
    std::span<const double> features;
    double target;
    bool more;
    Nearness near;   // of the point to the nearest one within the ranges
    double of_trees; // variance of what trees do not know there, on the scale
    std::vector<double> signals;
    double noise, scale;
    double noise_factor; // of the point
    double max_ratio;    // of weights: Seen
    RunContext& context;

    // y = (1 − δ) f + √(1 − ρ²) g + noise is an observation y/(1 − δ) of f, with more noise.
    Seen seen(double signal, double own_noise) const {
        return {target / near.mean, near.mean * near.mean / (noise_factor + (near.rest(signal) + of_trees) / own_noise),
                max_ratio};
    }

    void operator()(Mixture& mixture) const {
        for (size_t m = 0; m < mixture.members.size(); m++) {
            Member& member = mixture.members[m];
            PointEncoder encoder(member.encoding, member.order);
            const String point = encoder(features);
            const Seen at = seen(signals[m], member.trie.kernel().noise);
            more ? member.trie.insert(point, at.target, at.weight) : member.trie.remove(point, at.target, at.weight);
        }
        mixture.log_likelihood = log_likelihood(mixture.members, scale);
        // Only a model that no fit has made has observations so far out.
        if (!std::isfinite(mixture.log_likelihood))
            throw Error(ErrorCode::out_of_range, "the likelihood of the model's observations is out of range");
    }
    void operator()(SparseModel& sparse) const {
        if (!sparse.condition_on(features, target, 1 / noise_factor, more, context))
            refuse("It weighs more in the model than any of its observations can.");
    }
    void operator()(SumModel& sum) const {
        SumModel::Parts parts = std::move(sum).take();
        change_rows(parts.rows, features, seen(signals[0], noise), more, context);
        sum = solve_again(std::move(parts), context);
    }
};

// Returns it on the scale. A number beyond is a mistake; squares of it would overflow, single precision's in a sum
// first.
double scaled(const Model& model, const Placement& placement, double target) {
    static constexpr double most = 1e15;
    validate_observation(target, 1);
    const double value = (placement.inner(target) - model.centre) / model.scale;
    if (!(std::abs(value) <= most))
        throw Error(ErrorCode::out_of_range, format("target value %g is out of range", target), {},
                    model.mean ? format("What its trees leave of a target is within %g deviations.", most)
                               : format("The model was trained on targets of mean %g and standard deviation %g, and "
                                        "takes those within %g standard deviations.",
                                        model.centre, model.scale, most));
    return value;
}

bool change(Model& model, std::span<const double> features, double target, bool more, RunContext& context) {
    if (std::holds_alternative<SparseModel>(model.posterior)) {
        require_comparable(model, features);
        if (!more && model.rows <= 1) refuse_last();
    } else {
        require_known(model, features);
    }
    static constexpr double next_to_nothing = 0.01;
    const OutsideScale outside(model);
    const Nearness near = outside.nearness(features);
    if (near.mean < next_to_nothing) return false;
    const Placement placement = outside.place(model, features);
    const double value = scaled(model, placement, target),
                 of_trees = placement.variance / placement.outer_variance(model.scale * model.scale);
    const VaryingNoise* const varying = model.varying_noise.get();
    if (varying && !more && !std::holds_alternative<SumModel>(model.posterior)) refuse_unknown_weight();
    const double noise_factor = varying ? Predictor(model).noise_factor(features) : 1;
    std::visit(Change{features, value, more, near, of_trees, signals(model), model.noise, model.scale, noise_factor,
                      varying ? varying->greatest / varying->least : 1, context},
               model.posterior);
    more ? model.rows++ : model.rows--;
    if (model.leave_one_out) model.leave_one_out->coverage_90.reset();
    if (model.calibration) model.calibration->updates++;
    return true;
}

} // namespace

std::vector<size_t> features_outside(const Model& model, std::span<const double> features) {
    if (!model.encoding()) return {};
    const Encoding& encoding = *model.encoding();
    std::vector<size_t> outside;
    for (size_t f = 0; f < features.size(); f++)
        if (encoding.value_bits(f, features[f]).outside) outside.push_back(f);
    return outside;
}

bool insert(Model& model, std::span<const double> features, double target, RunContext& context) {
    return change(model, features, target, true, context);
}

bool remove(Model& model, std::span<const double> features, double target, RunContext& context) {
    return change(model, features, target, false, context);
}

} // namespace btml::gp
