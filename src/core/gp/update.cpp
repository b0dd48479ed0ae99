#include "core/gp/update.hpp"

#include "core/base/number.hpp"
#include "core/gp/point_encoder.hpp"

#include <cmath>

namespace btml::gp {

namespace {

void require_known(const Model& model, std::span<const double> features) {
    for (size_t f = 0; f < features.size(); f++) {
        const Encoding& encoding = model.members.front().encoding;
        if (encoding.value_bits(f, features[f]).known == encoding.features()[f].bits()) continue;
        throw Error(ErrorCode::invalid_argument,
                    format("feature \"%s\" is %s that no training row has", model.features[f].name.c_str(),
                           is_null(features[f]) ? "NULL, a value" : "a category"),
                    "The model has no bits to tell it from other values.", "Train a model on rows that have it.");
    }
}

template <class Change>
bool change(Model& model, std::span<const double> features, double target, const Change& apply) {
    if (model.sum)
        throw Error(ErrorCode::not_supported, "a sum of kernels cannot be updated yet", {},
                    "Train the model with combine => 'mixture'.");
    require_known(model, features);
    if (model.options.outside == Outside::prior && !features_outside(model, features).empty()) return false;
    for (Member& member : model.members)
        apply(member.trie, PointEncoder(member.encoding, member.order)(features),
              (target - model.centre) / model.scale);
    model.log_likelihood = log_likelihood(model);
    if (model.leave_one_out) model.leave_one_out->coverage_90.reset();
    return true;
}

} // namespace

std::vector<size_t> features_outside(const Model& model, std::span<const double> features) {
    const Encoding& encoding = model.sum ? model.sum->encoding() : model.members.front().encoding;
    std::vector<size_t> outside;
    for (size_t f = 0; f < features.size(); f++)
        if (encoding.value_bits(f, features[f]).outside) outside.push_back(f);
    return outside;
}

bool insert(Model& model, std::span<const double> features, double target) {
    const bool changed =
        change(model, features, target, [](Trie& trie, const String& point, double y) { trie.insert(point, y, 1); });
    model.rows += changed;
    return changed;
}

bool remove(Model& model, std::span<const double> features, double target) {
    const bool changed =
        change(model, features, target, [](Trie& trie, const String& point, double y) { trie.remove(point, y, 1); });
    model.rows -= changed;
    return changed;
}

} // namespace btml::gp
