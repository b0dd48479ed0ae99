#include "core/gp/predictor.hpp"

#include "core/gp/mixture.hpp"

namespace btml::gp {

Predictor::Predictor(Model& model) : model_(model), members_(model.members.size()) {
    for (const Member& member : model.members) encoders_.emplace_back(member.encoding, member.order);
}

void Predictor::predict_members(std::span<const double> features) {
    for (size_t m = 0; m < members_.size(); m++) members_[m] = model_.members[m].trie.latent(encoders_[m](features));
}

Normal Predictor::latent(std::span<const double> features) {
    if (model_.sum) {
        const Normal at = model_.sum->latent(features);
        return {model_.centre + model_.scale * at.mean, model_.scale * model_.scale * at.variance};
    }
    predict_members(features);
    Normal mixed;
    for (size_t m = 0; m < members_.size(); m++) mixed.mean += model_.members[m].weight * members_[m].mean;
    for (size_t m = 0; m < members_.size(); m++) {
        const double apart = members_[m].mean - mixed.mean;
        mixed.variance += model_.members[m].weight * (members_[m].variance + apart * apart);
    }
    return {model_.centre + model_.scale * mixed.mean, model_.scale * model_.scale * mixed.variance};
}

Normal Predictor::observation(std::span<const double> features) {
    Normal at = latent(features);
    at.variance += model_.scale * model_.scale * model_.noise;
    return at;
}

double Predictor::log_density(std::span<const double> features, double target, double weight) {
    MixtureDensity density;
    if (model_.sum) {
        const Normal at = model_.sum->latent(features);
        density.add(1, at.mean, at.variance + model_.noise / weight, (target - model_.centre) / model_.scale);
        return density.log() - std::log(model_.scale);
    }
    predict_members(features);
    for (size_t m = 0; m < members_.size(); m++) {
        const Member& member = model_.members[m];
        density.add(member.weight, members_[m].mean, members_[m].variance + member.trie.kernel().noise / weight,
                    (target - model_.centre) / model_.scale);
    }
    return density.log() - std::log(model_.scale);
}

} // namespace btml::gp
