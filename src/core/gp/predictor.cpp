#include "core/gp/predictor.hpp"

#include "core/gp/mixture.hpp"

namespace btml::gp {

Predictor::Predictor(Model& model) : model_(model), members_(model.members.size()) {
    for (const Member& member : model.members) encoders_.emplace_back(member.encoding, member.order);
}

void Predictor::predict_members(std::span<const double> features) {
    for (size_t m = 0; m < members_.size(); m++) members_[m] = model_.members[m].trie.latent(encoders_[m](features));
}

// Of the members' predictions.
Normal Predictor::mixed() const {
    const bool boosted = model_.combine == Combine::boosted;
    Normal at;
    for (size_t m = 0; m < members_.size(); m++) at.mean += model_.members[m].weight * members_[m].mean;
    for (size_t m = 0; m < members_.size(); m++) {
        const double apart = boosted ? 0 : members_[m].mean - at.mean;
        at.variance += model_.members[m].weight * (members_[m].variance + apart * apart);
    }
    if (boosted) at.variance *= model_.variance_factor;
    return at;
}

Normal Predictor::latent_on_scale(std::span<const double> features) {
    if (model_.sum) return model_.sum->latent(features);
    predict_members(features);
    return mixed();
}

Normal Predictor::latent(std::span<const double> features) {
    const Normal at = latent_on_scale(features);
    return {model_.centre + model_.scale * at.mean, model_.scale * model_.scale * at.variance};
}

Normal Predictor::observation(std::span<const double> features) {
    Normal at = latent(features);
    at.variance += model_.scale * model_.scale * model_.noise;
    return at;
}

Predictor::Score Predictor::score(std::span<const double> features, double target, double weight) {
    const Normal latent = latent_on_scale(features);
    const double at = (target - model_.centre) / model_.scale;
    MixtureDensity density;
    if (model_.combine == Combine::mixture) {
        for (size_t m = 0; m < members_.size(); m++) {
            const Member& member = model_.members[m];
            density.add(member.weight, members_[m].mean, members_[m].variance + member.trie.kernel().noise / weight,
                        at);
        }
    } else {
        density.add(1, latent.mean, latent.variance + model_.noise / weight, at);
    }
    return {density.log() - std::log(model_.scale), model_.centre + model_.scale * latent.mean};
}

} // namespace btml::gp
