#include "core/gp/model.hpp"

#include "core/gp/mixture.hpp"
#include "core/gp/residual_chain.hpp"

#include <cmath>

namespace btml::gp {

namespace {

double get_positive(Reader& reader, const char* what) {
    const double value = reader.get_finite();
    if (!(value > 0)) corrupt_model(format("Its %s is not positive.", what));
    return value;
}

void encode_order(const BitOrder& order, Writer& writer) {
    writer.put_count(order.size());
    for (const uint16_t feature : order) writer.put(feature);
}

void encode(const Member& member, Writer& writer) {
    member.encoding.encode(writer);
    encode_order(member.order, writer);
    writer.put(member.weight);
    member.trie.encode(writer);
}

void encode_boosted(const Model& model, Writer& writer) {
    writer.put(model.variance_factor);
    writer.put_count(model.members.size());
    for (const Member& member : model.members) {
        member.encoding.encode(writer);
        encode_order(member.order, writer);
        encode(member.trie.kernel(), writer);
        writer.put(member.weight);
    }
    encode(*model.rows_of_members, writer);
}

void check_encoding(const Encoding& encoding, const std::vector<Feature>& features) {
    if (encoding.features().size() != features.size())
        corrupt_model(format("A member has %zu features, the model %zu.", encoding.features().size(), features.size()));
    for (size_t f = 0; f < features.size(); f++) {
        const FeatureBits& bits = encoding.features()[f];
        if (bits.categorical != features[f].categorical || bits.places.size() != features[f].categories.size())
            corrupt_model(format("Feature %zu of a member has other categories than the model's.", f));
    }
}

BitOrder decode_order(Reader& reader, const Encoding& encoding) {
    BitOrder order(reader.get_count(sizeof(uint16_t)));
    for (uint16_t& feature : order) feature = reader.get<uint16_t>();
    try {
        bits_of_levels(encoding, order);
    } catch (const Error& error) {
        corrupt_model(format("A member has an order in which %s.", error.what()));
    }
    return order;
}

Encoding decode_encoding(Reader& reader, const Model& model) {
    Encoding encoding = Encoding::decode(reader);
    check_encoding(encoding, model.features);
    if (encoding.outside() != model.options.outside) corrupt_model("A member treats points outside differently.");
    return encoding;
}

void check_levels(const Kernel& kernel, const BitOrder& order) {
    if (kernel.levels() != order.size())
        corrupt_model(format("A member has %zu levels, its order %zu.", kernel.levels(), order.size()));
}

Member decode_member(Reader& reader, const Model& model, RunContext& context) {
    Encoding encoding = decode_encoding(reader, model);
    BitOrder order = decode_order(reader, encoding);
    const double weight = get_positive(reader, "member's weight");
    Trie trie = Trie::decode(reader, context);
    check_levels(trie.kernel(), order);
    return {std::move(encoding), std::move(order), std::move(trie), weight};
}

// The bytes of a member that has nothing in it.
constexpr size_t min_member_bytes = 40;

void decode_members(Reader& reader, Model& model, RunContext& context) {
    const size_t count = reader.get_count(min_member_bytes);
    if (count == 0) corrupt_model("It has no members.");
    double total = 0;
    for (size_t m = 0; m < count; m++) {
        model.members.push_back(decode_member(reader, model, context));
        total += model.members.back().weight;
    }
    if (!(std::abs(total - 1) < 1e-9)) corrupt_model("The weights of its members do not add up to 1.");
}

// Members before their tries.
struct Untrained {
    Encoding encoding;
    BitOrder order;
    Kernel kernel;
    double fraction;
};

void train_members(Model& model, std::vector<Untrained> members, RunContext& context) {
    ResidualChain chain(*model.rows_of_members, context);
    model.members.clear();
    for (auto& [encoding, order, kernel, fraction] : members)
        model.members.push_back(chain.add(std::move(encoding), std::move(order), kernel, fraction, context));
    for (const double residual : chain.residuals())
        if (!std::isfinite(residual)) corrupt_model("What its members leave of a target is not finite.");
}

void decode_boosted(Reader& reader, Model& model, RunContext& context) {
    static constexpr size_t max_members = 1000;
    static constexpr double max_factor = 1e20;
    model.variance_factor = reader.get_finite();
    if (!(model.variance_factor >= 0 && model.variance_factor <= max_factor))
        corrupt_model("The factor of its variances is out of range.");
    const size_t count = reader.get_count(min_member_bytes);
    if (count == 0 || count > max_members) corrupt_model(format("It has %zu members.", count));
    std::vector<Untrained> members;
    for (size_t m = 0; m < count; m++) {
        Encoding encoding = decode_encoding(reader, model);
        BitOrder order = decode_order(reader, encoding);
        Kernel kernel = decode_kernel(reader);
        check_levels(kernel, order);
        const double fraction = get_positive(reader, "member's fraction");
        if (fraction > 1) corrupt_model("The fraction of a member is greater than 1.");
        members.push_back({std::move(encoding), std::move(order), std::move(kernel), fraction});
    }
    model.rows_of_members = decode_training_columns(reader, members.front().encoding, context);
    if (model.rows_of_members->rows() == 0) corrupt_model("It has no rows.");
    train_members(model, std::move(members), context);
}

void decode_sum(Reader& reader, Model& model, RunContext& context) {
    model.sum = SumModel::decode(reader, context);
    check_encoding(model.sum->encoding(), model.features);
    if (model.sum->encoding().outside() != model.options.outside)
        corrupt_model("A sum treats points outside differently.");
}

void check_rows(const Model& model) {
    if (model.sum && model.sum->rows() != model.rows)
        corrupt_model(format("A sum has %zu rows, the model %llu.", model.sum->rows(),
                             static_cast<unsigned long long>(model.rows)));
    for (const Member& member : model.members)
        if (member.trie.rows() != static_cast<double>(model.rows))
            corrupt_model(format("A member has %.0f rows, the model %llu.", member.trie.rows(),
                                 static_cast<unsigned long long>(model.rows)));
}

void encode(const std::optional<LeaveOneOut>& score, Writer& writer) {
    writer.put(score.has_value());
    if (!score) return;
    writer.put(score->rows);
    writer.put(score->mean_nll);
    writer.put(score->rmse);
    put(score->coverage_90, writer);
}

std::optional<LeaveOneOut> decode_leave_one_out(Reader& reader) {
    if (!reader.get_bool()) return std::nullopt;
    LeaveOneOut score{reader.get<uint64_t>(), reader.get_finite(), reader.get_finite(), get_optional(reader)};
    if (score.rmse < 0 || !(score.coverage_90.value_or(0) >= 0 && score.coverage_90.value_or(0) <= 1))
        corrupt_model("A leave-one-out score is out of range.");
    return score;
}

} // namespace

void encode(const Model& model, Writer& writer) {
    writer.put(std::string_view(model.target));
    encode(model.features, writer);
    options_table.write(model.options, writer);
    writer.put(static_cast<uint8_t>(model.combine));
    writer.put(model.centre);
    writer.put(model.scale);
    writer.put(model.noise);
    if (model.combine == Combine::boosted) {
        encode_boosted(model, writer);
    } else if (model.sum) {
        model.sum->encode(writer);
    } else {
        writer.put_count(model.members.size());
        for (const Member& member : model.members) encode(member, writer);
    }
    put(model.log_likelihood, writer);
    writer.put(model.evaluations);
    encode(model.leave_one_out, writer);
    put(model.holdout_nll, writer);
    put(model.holdout_rmse, writer);
    writer.put(std::string_view(model.strategy));
    writer.put(std::string_view(model.strategy_reason));
    writer.put(model.rows);
    writer.put(model.holdout_rows);
    writer.put(model.rows_skipped);
}

Model decode(Reader& reader, RunContext& context) {
    Model model;
    model.target = reader.get_string();
    model.features = decode_features(reader);
    if (model.features.empty()) corrupt_model("It has no features.");
    model.options = options_table.read(reader);
    model.combine = static_cast<Combine>(reader.get<uint8_t>());
    if (model.combine == Combine::automatic || model.combine > Combine::boosted)
        corrupt_model("The way that its members are combined is unknown.");
    model.centre = reader.get_finite();
    model.scale = get_positive(reader, "scale");
    model.noise = get_positive(reader, "noise");
    if (model.combine == Combine::mixture)
        decode_members(reader, model, context);
    else if (model.combine == Combine::boosted)
        decode_boosted(reader, model, context);
    else
        decode_sum(reader, model, context);
    model.log_likelihood = get_optional(reader);
    model.evaluations = reader.get<uint64_t>();
    model.leave_one_out = decode_leave_one_out(reader);
    model.holdout_nll = get_optional(reader);
    model.holdout_rmse = get_optional(reader);
    model.strategy = reader.get_string();
    model.strategy_reason = reader.get_string();
    model.rows = reader.get<uint64_t>();
    model.holdout_rows = reader.get<uint64_t>();
    model.rows_skipped = reader.get<uint64_t>();
    check_rows(model);
    return model;
}

// By feature, on the scale.
static std::vector<double> prior_variances(const Model& model) {
    std::vector<double> variances(model.features.size(), 0.0);
    const auto add = [&](const BitOrder& order, const std::vector<double>& weights, double share) {
        for (size_t level = 0; level < order.size(); level++) variances[order[level]] += share * weights[level];
    };
    for (const Member& member : model.members) {
        const double share = model.combine == Combine::boosted ? member.weight * member.weight : member.weight;
        add(member.order, member.trie.kernel().weights, share);
    }
    if (model.sum)
        for (const SumModel::Member& member : model.sum->members()) add(member.order, member.weights, 1);
    return variances;
}

std::vector<double> relevance(const Model& model) {
    std::vector<double> variances = prior_variances(model);
    for (double& variance : variances) variance *= model.scale * model.scale;
    return variances;
}

void retrain(Model& model, RunContext& context) {
    std::vector<Untrained> members;
    for (Member& member : model.members)
        members.push_back({std::move(member.encoding), std::move(member.order), member.trie.kernel(), member.weight});
    train_members(model, std::move(members), context);
}

double log_likelihood(const Model& model) {
    double likelihood = -std::numeric_limits<double>::infinity();
    for (const Member& member : model.members)
        likelihood = log_of_sum(likelihood, std::log(member.weight) - member.trie.negative_log_likelihood() -
                                                member.trie.rows() * std::log(model.scale));
    return likelihood;
}

double signal(const Model& model) {
    double variance = 0;
    for (const double part : prior_variances(model)) variance += part;
    return variance;
}

} // namespace btml::gp
