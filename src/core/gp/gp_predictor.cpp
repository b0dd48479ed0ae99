#include "core/gp/gp_predictor.hpp"

#include "core/gp/mixture.hpp"
#include "core/gp/sparse/sparse_predictor.hpp"

namespace btml::gp {

Predictor::Predictor(Model& model)
    : model_(model), latent_(model.members().size()), outside_(model), signals_(signals(model)) {
    for (const Member& member : model.members()) encoders_.emplace_back(member.encoding, member.order);
    if (model.varying_noise) of_noise_.emplace_back(model.varying_noise->gp);
}

double Predictor::noise_factor(std::span<const double> features) {
    return of_noise_.empty() ? 1 : model_.varying_noise->factor(of_noise_[0].latent(features).mean);
}

Normal Predictor::latent_of(const Mixture& mixture, std::span<const double> features) {
    const std::vector<Member>& members = mixture.members;
    for (size_t m = 0; m < members.size(); m++)
        latent_[m] = beyond(members[m].trie.latent(encoders_[m](features)), near_, signals_[m]);
    Normal at;
    for (size_t m = 0; m < members.size(); m++) at.mean += members[m].weight * latent_[m].mean;
    for (size_t m = 0; m < members.size(); m++) {
        const double apart = latent_[m].mean - at.mean;
        at.variance += members[m].weight * (latent_[m].variance + apart * apart);
    }
    return at;
}

Normal Predictor::latent_of(SumModel& sum, std::span<const double> features) {
    return beyond(sum.latent(features), near_, signals_[0]);
}

Normal Predictor::latent_on_scale(std::span<const double> features) {
    near_ = outside_.nearness(features);
    placement_ = outside_.place(model_, features);
    return std::visit([&](auto& posterior) { return latent_of(posterior, features); }, model_.posterior);
}

// From the scale to the target's units.
Normal Predictor::in_units(const Normal& at) const {
    return {placement_.outer(model_.centre + model_.scale * at.mean),
            placement_.outer_variance(model_.scale * model_.scale * at.variance) + placement_.variance};
}

Normal Predictor::latent(std::span<const double> features) {
    return in_units(latent_on_scale(features));
}

Normal Predictor::observation(std::span<const double> features) {
    Normal at = latent(features);
    at.variance += placement_.outer_variance(model_.scale * model_.scale * model_.noise * noise_factor(features));
    return at;
}

Normal Predictor::calibrated(Normal observation) const {
    if (model_.calibration) observation.variance = model_.calibration->variance(observation.variance);
    return observation;
}

Normal Predictor::calibrated_latent(Normal latent) const {
    if (model_.calibration) latent.variance *= model_.calibration->variance.factor;
    return latent;
}

Predictor::Score Predictor::score(std::span<const double> features, double target, double weight) {
    const double noise_over_weight = noise_factor(features) / weight;
    const Normal latent = latent_on_scale(features);
    const Normal observed = in_units({latent.mean, latent.variance + model_.noise * noise_over_weight});
    if (model_.calibration && !model_.calibration->variance.is_identity()) {
        const Normal normal = calibrated(observed);
        MixtureDensity density;
        density.add(1, normal.mean, normal.variance, target);
        return {density.log(), observed.mean, observed.variance};
    }
    const double unit = std::sqrt(placement_.outer_variance(model_.scale * model_.scale)),
                 of_trees = placement_.variance / (unit * unit), from_mean = (target - observed.mean) / unit;
    MixtureDensity density; // about the mean, in these units
    if (const auto* const mixture = std::get_if<Mixture>(&model_.posterior)) {
        for (size_t m = 0; m < latent_.size(); m++) {
            const Member& member = mixture->members[m];
            density.add(member.weight, latent_[m].mean - latent.mean,
                        latent_[m].variance + of_trees + member.trie.kernel().noise * noise_over_weight, from_mean);
        }
    } else {
        density.add(1, 0, latent.variance + of_trees + model_.noise * noise_over_weight, from_mean);
    }
    return {density.log() - std::log(unit), observed.mean, observed.variance};
}

// Returns the predictors with a smooth kernel: this one, and those of its noise.
std::vector<Predictor*> Predictor::smooth_ones() {
    std::vector<Predictor*> smooth;
    if (std::holds_alternative<SparseModel>(model_.posterior)) smooth.push_back(this);
    for (Predictor& of_noise : of_noise_)
        for (Predictor* const one : of_noise.smooth_ones()) smooth.push_back(one);
    return smooth;
}

// Returns the work of a prediction beside what is found beforehand, as RunContext counts it.
static uint64_t units_of_prediction(const Model& model) {
    const auto* const sum = std::get_if<SumModel>(&model.posterior);
    const uint64_t members = std::max<uint64_t>(1, model.members().size() + (sum ? sum->members().size() : 0)),
                   trees = model.mean ? model.mean->trees().trees.size() : 0;
    return 64 * members + 2 * trees + (model.varying_noise ? units_of_prediction(model.varying_noise->gp) : 0);
}

void Predictor::for_each_point(Model& model, size_t count, const Read& read, const Use& use, RunContext& context) {
    Predictor predictor(model);
    const std::vector<Predictor*> smooth = predictor.smooth_ones();
    std::optional<ThreadTeam> team;
    if (!smooth.empty()) team.emplace(context);
    std::vector<std::unique_ptr<SparsePredictor>> together;
    for (const Predictor* const one : smooth)
        together.push_back(
            std::make_unique<SparsePredictor>(std::get<SparseModel>(one->model_.posterior), count, *team, context));

    constexpr size_t at_a_time = SparsePredictor::max_points;
    const size_t width = model.features.size(), units = units_of_prediction(model);
    Buffer<double> features(context.memory(), "points to predict at", at_a_time * width);
    std::vector<std::vector<Normal>> found(smooth.size(), std::vector<Normal>(at_a_time));
    const auto of_point = [&](size_t i) { return std::span(features.data() + i * width, width); };
    for (size_t begin = 0; begin < count; begin += at_a_time) {
        context.progress("predicting", begin, count);
        const size_t points = std::min(at_a_time, count - begin);
        for (size_t i = 0; i < points; i++) read(begin + i, of_point(i));
        for (size_t p = 0; p < smooth.size(); p++)
            together[p]->find({features.data(), points * width}, {found[p].data(), points});
        context.for_each(points, units, [&](size_t i) {
            for (size_t p = 0; p < smooth.size(); p++) smooth[p]->found_ = &found[p][i];
            use(begin + i, predictor, of_point(i));
        });
    }
}

} // namespace btml::gp
