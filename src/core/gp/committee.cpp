#include "core/gp/committee.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

Normal prior_of(const Model& expert) {
    const auto* const boosted = std::get_if<Boosted>(&expert.posterior);
    const double factor = boosted ? boosted->variance_factor : 1;
    return {expert.centre, factor * signal(expert) * expert.scale * expert.scale};
}

Normal combine_experts(std::span<const Normal> latent, std::span<const Normal> priors, const Normal& prior) {
    double precision = 1 / prior.variance, shift = 0;
    for (size_t k = 0; k < latent.size(); k++) {
        const double variance = latent[k].variance, before = priors[k].variance;
        if (!(variance > 0 && variance < before)) continue;
        const double beta = std::log(before / variance) / 2;
        precision += beta * (1 / variance - 1 / before);
        shift += beta * ((latent[k].mean - prior.mean) / variance - (priors[k].mean - prior.mean) / before);
    }
    return {prior.mean + shift / precision, 1 / precision};
}

static std::string bytes_of(const Model& model, RunContext& context) {
    Writer writer(context);
    encode(model, writer);
    return {reinterpret_cast<const char*>(writer.bytes().data()), writer.bytes().size()};
}

static void sort_experts(std::vector<Model>& experts, RunContext& context) {
    std::vector<std::pair<std::string, size_t>> order;
    for (size_t k = 0; k < experts.size(); k++) order.emplace_back(bytes_of(experts[k], context), k);
    std::sort(order.begin(), order.end());
    std::vector<Model> sorted;
    for (const auto& [bytes, k] : order) sorted.push_back(std::move(experts[k]));
    experts = std::move(sorted);
}

Model committee_of(std::vector<Model> experts, RunContext& context) {
    if (experts.empty()) throw Error(ErrorCode::internal, "a committee has no experts");
    sort_experts(experts, context);
    Model model;
    static_cast<Provenance&>(model) = experts.front();
    model.options = experts.front().options;
    model.options.per_shard = true;
    model.rows = model.rows_skipped = model.evaluations = 0;
    for (const Model& expert : experts) {
        if (!have_same_features(expert, experts.front()))
            throw Error(ErrorCode::internal, "the experts of a committee have different features");
        model.rows += expert.rows;
        model.rows_skipped += expert.rows_skipped;
        model.evaluations += expert.evaluations;
    }
    const auto mean = [&](const auto& of_expert) {
        double sum = 0;
        for (const Model& expert : experts)
            sum += static_cast<double>(expert.rows) / static_cast<double>(model.rows) * of_expert(expert);
        return sum;
    };
    model.centre = mean([](const Model& expert) { return expert.centre; });
    model.scale = std::sqrt(mean([&](const Model& expert) {
        const double apart = expert.centre - model.centre;
        return expert.scale * expert.scale + apart * apart;
    }));
    const double square = model.scale * model.scale;
    model.noise = mean([](const Model& expert) { return expert.noise * expert.scale * expert.scale; }) / square;
    const double signal = mean([&](const Model& expert) {
        const Normal prior = prior_of(expert);
        return prior.variance + (prior.mean - model.centre) * (prior.mean - model.centre);
    });
    model.posterior = Committee{std::move(experts), signal / square};
    return model;
}

} // namespace btml::gp
