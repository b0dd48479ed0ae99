#include "core/gp/gp_model.hpp"

#include "core/gp/mixture.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

double get_positive(Reader& reader, const char* what) {
    const double value = reader.get_finite();
    if (!(value > 0)) corrupt_model(format("Its %s is not positive.", what));
    return value;
}

void encode(const Member& member, Writer& writer) {
    member.encoding.encode(writer);
    encode_order(member.order, writer);
    writer.put_positive(member.weight);
    member.trie.encode(writer);
}

constexpr SectionKind gp_section{"gaussian_process"}, mixture_section{"mixture"}, sum_section{"kernel_sum"},
    sparse_section{"sparse"}, scores_section{"scores"}, varying_noise_section{"varying_noise"};
// The last two are of no model within a model.
constexpr SectionKind known_sections[] = {provenance_section, features_section,     options_section,
                                          gp_section,         mixture_section,      sum_section,
                                          sparse_section,     scores_section,       uncertainty::calibration_section,
                                          mean_section,       varying_noise_section};
constexpr std::span<const SectionKind> inner_sections(known_sections, std::size(known_sections) - 2);

void encode_inner(const Model& inner, Writer& writer) {
    Writer own = writer.another();
    gp::encode(inner, own);
    writer.put(uint64_t{own.bytes().size()});
    writer.append(own.bytes());
}

void encode(const Mixture& mixture, Writer& writer) {
    writer.section(mixture_section, [&] {
        writer.put_count(mixture.members.size());
        for (const Member& member : mixture.members) encode(member, writer);
        writer.put_finite(mixture.log_likelihood);
    });
}

void encode(const SumModel& sum, Writer& writer) {
    writer.section(sum_section, [&] { sum.encode(writer); });
}

void encode(const SparseModel& sparse, Writer& writer) {
    writer.section(sparse_section, [&] { sparse.encode(writer); });
}

void encode(const VaryingNoise& noise, Writer& writer) {
    writer.section(varying_noise_section, [&] {
        writer.put_finite(noise.level);
        writer.put_positive(noise.least);
        writer.put_positive(noise.greatest);
        encode_inner(noise.gp, writer);
    });
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

Encoding decode_encoding(Reader& reader, const Model& model) {
    Encoding encoding = Encoding::decode(reader);
    check_encoding(encoding, model.features);
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

constexpr size_t max_members = 1000, min_member_bytes = 40; // the bytes of a member that has nothing in it

Mixture decode_mixture(Reader& reader, const Model& model, RunContext& context) {
    const size_t count = reader.get_count(min_member_bytes);
    if (count == 0) corrupt_model("It has no members.");
    if (count > max_members) corrupt_model(format("It has %zu members.", count));
    reader.hold(count * sizeof(Member));
    Mixture mixture;
    mixture.members.reserve(count);
    double total = 0;
    for (size_t m = 0; m < count; m++) {
        mixture.members.push_back(decode_member(reader, model, context));
        total += mixture.members.back().weight;
    }
    if (!(std::abs(total - 1) < 1e-9)) corrupt_model("The weights of its members do not add up to 1.");
    mixture.log_likelihood = reader.get_finite();
    return mixture;
}

SumModel decode_sum(Reader& reader, const Model& model, RunContext& context) {
    SumModel sum = SumModel::decode(reader, context);
    check_encoding(sum.encoding(), model.features);
    return sum;
}

Model decode(Reader& reader, std::span<const SectionKind> known, RunContext& context);

// Says whether the models take the same points.
bool have_same_features(const Model& a, const Model& b) {
    return std::equal(a.features.begin(), a.features.end(), b.features.begin(), b.features.end(),
                      [](const Feature& x, const Feature& y) {
                          return x.name == y.name && x.type == y.type && x.categories == y.categories;
                      });
}

// Reads a model within the model.
Model decode_inner(Reader& reader, const Model& model, const char* what, RunContext& context) {
    const auto bytes = reader.get<uint64_t>();
    if (bytes > reader.remaining()) corrupt_model(format("%s is longer than the model.", what));
    std::optional<Model> inner;
    reader.within(reader.take(bytes), [&] { inner = decode(reader, inner_sections, context); });
    if (!have_same_features(*inner, model)) corrupt_model(format("%s has other features than the model.", what));
    return std::move(*inner);
}

std::unique_ptr<VaryingNoise> decode_varying_noise(Reader& reader, const Model& model, RunContext& context) {
    const double level = reader.get_finite();
    const double least = get_positive(reader, "least noise"), greatest = get_positive(reader, "greatest noise");
    if (least > greatest) corrupt_model("Its least noise is greater than its greatest.");
    return std::make_unique<VaryingNoise>(VaryingNoise{
        decode_inner(reader, model, "The Gaussian process of its noise", context), level, least, greatest});
}

void decode_posterior(Sections& sections, Reader& reader, Model& model, RunContext& context) {
    const bool found[] = {
        sections.read(mixture_section, [&] { model.posterior = decode_mixture(reader, model, context); }),
        sections.read(sum_section, [&] { model.posterior = decode_sum(reader, model, context); }),
        sections.read(sparse_section, [&] { model.posterior = SparseModel::decode(reader, model.features, context); })};
    if (std::count(std::begin(found), std::end(found), true) != 1)
        corrupt_model("It is not either a mixture, a sum of kernels or sparse.");
}

void check_rows(const Model& model) {
    const auto* const sum = std::get_if<SumModel>(&model.posterior);
    if (sum && sum->rows() != model.rows)
        corrupt_model(format("A sum has %zu rows, the model %" PRIu64 ".", sum->rows(), model.rows));
    for (const Member& member : model.members())
        if (member.trie.rows() != static_cast<double>(model.rows))
            corrupt_model(format("A member has %.0f rows, the model %" PRIu64 ".", member.trie.rows(), model.rows));
}

void encode(const std::optional<LeaveOneOut>& score, Writer& writer) {
    writer.put(score.has_value());
    if (!score) return;
    writer.put(score->rows);
    writer.put_finite(score->mean_nll);
    writer.put_finite(score->rmse);
    put(score->coverage_90, writer);
}

std::optional<LeaveOneOut> decode_leave_one_out(Reader& reader) {
    if (!reader.get_bool()) return std::nullopt;
    LeaveOneOut score{reader.get<uint64_t>(), reader.get_finite(), reader.get_finite(), get_optional(reader)};
    if (score.rmse < 0 || !(score.coverage_90.value_or(0) >= 0 && score.coverage_90.value_or(0) <= 1))
        corrupt_model("A leave-one-out score is out of range.");
    return score;
}

Model decode(Reader& reader, std::span<const SectionKind> known, RunContext& context) {
    Model model;
    Sections sections(reader, known);
    decode(sections, reader, static_cast<Provenance&>(model));
    if (model.features.empty()) corrupt_model("It has no features.");
    sections.require(options_section, [&] { model.options = options_table.read(reader); });
    sections.require(gp_section, [&] {
        model.centre = reader.get_finite();
        model.scale = get_positive(reader, "scale");
        model.noise = get_positive(reader, "noise");
    });
    decode_posterior(sections, reader, model, context);
    sections.require(scores_section, [&] {
        model.evaluations = reader.get<uint64_t>();
        model.leave_one_out = decode_leave_one_out(reader);
        model.holdout_nll = get_optional(reader);
        model.holdout_rmse = get_optional(reader);
        const std::optional<double> nll = get_optional(reader);
        if (model.leave_one_out) model.leave_one_out->mean_nll_student_t = nll;
    });
    sections.read(uncertainty::calibration_section,
                  [&] { model.calibration = uncertainty::decode_calibration(reader); });
    sections.read(mean_section, [&] { model.mean = decode_trees_mean(reader, model.features, context); });
    sections.read(varying_noise_section, [&] { model.varying_noise = decode_varying_noise(reader, model, context); });
    check_rows(model);
    return model;
}

} // namespace

void encode(const Model& model, Writer& writer) {
    encode(static_cast<const Provenance&>(model), writer);
    writer.section(options_section, [&] { options_table.write(model.options, writer); });
    writer.section(gp_section, [&] {
        writer.put_finite(model.centre);
        writer.put_positive(model.scale);
        writer.put_positive(model.noise);
    });
    std::visit([&](const auto& posterior) { encode(posterior, writer); }, model.posterior);
    writer.section(scores_section, [&] {
        writer.put(model.evaluations);
        encode(model.leave_one_out, writer);
        put(model.holdout_nll, writer);
        put(model.holdout_rmse, writer);
        put(model.leave_one_out ? model.leave_one_out->mean_nll_student_t : std::nullopt, writer);
    });
    if (model.calibration)
        writer.section(uncertainty::calibration_section, [&] { encode(*model.calibration, writer); });
    if (model.mean) encode(*model.mean, writer);
    if (model.varying_noise) encode(*model.varying_noise, writer);
}

double VaryingNoise::factor(double predicted) const {
    static constexpr double max_logarithm = 7; // deviations of a thirtieth to thirty times that of the level
    if (std::isnan(predicted)) return 1;
    return std::exp(std::clamp(predicted - level, -max_logarithm, max_logarithm));
}

Model decode(Reader& reader, RunContext& context) {
    return decode(reader, known_sections, context);
}

Combine Model::combine() const {
    static constexpr Combine kinds[] = {Combine::mixture, Combine::kernel_sum, Combine::automatic};
    return kinds[posterior.index()];
}

std::span<const Member> Model::members() const {
    const auto* const mixture = std::get_if<Mixture>(&posterior);
    return mixture ? std::span(mixture->members) : std::span<const Member>();
}

const Encoding* Model::encoding() const {
    if (const auto* const sum = std::get_if<SumModel>(&posterior)) return &sum->encoding();
    return members().empty() ? nullptr : &members().front().encoding;
}

std::optional<double> Model::log_likelihood() const {
    if (mean) return std::nullopt; // the errors out of fold have one, not the targets
    if (const auto* const sparse = std::get_if<SparseModel>(&posterior)) {
        const std::optional<double> of_scale = sparse->log_likelihood();
        return of_scale ? std::optional(*of_scale - static_cast<double>(rows) * std::log(scale)) : std::nullopt;
    }
    const auto* const mixture = std::get_if<Mixture>(&posterior);
    return mixture ? std::optional(mixture->log_likelihood) : std::nullopt;
}

// Returns them on the scale, by feature.
static std::vector<double> prior_variances(const Model& model) {
    std::vector<double> variances(model.features.size());
    const auto add = [&](const BitOrder& order, const std::vector<double>& weights, double share) {
        for (size_t level = 0; level < order.size(); level++) variances[order[level]] += share * weights[level];
    };
    if (const auto* const sparse = std::get_if<SparseModel>(&model.posterior)) return sparse->relevance();
    for (const Member& member : model.members()) add(member.order, member.trie.kernel().weights, member.weight);
    if (const auto* const sum = std::get_if<SumModel>(&model.posterior))
        for (const SumModel::Member& member : sum->members()) add(member.order, member.weights, 1);
    return variances;
}

std::vector<double> relevance(const Model& model) {
    std::vector<double> variances = prior_variances(model);
    const double unit = model.scale * model.scale * (model.mean ? model.mean->mean_variance() : 1);
    for (double& variance : variances) variance *= unit;
    if (!model.mean) return variances;
    const std::vector<double> of_trees = model.mean->relevance();
    for (size_t f = 0; f < variances.size(); f++) variances[f] += of_trees[f];
    return variances;
}

double log_likelihood(std::span<const Member> members, double scale) {
    double likelihood = -std::numeric_limits<double>::infinity();
    for (const Member& member : members)
        likelihood = log_of_sum(likelihood, std::log(member.weight) - member.trie.negative_log_likelihood() -
                                                member.trie.rows() * std::log(scale));
    return likelihood;
}

double signal(const Model& model) {
    if (const auto* const sparse = std::get_if<SparseModel>(&model.posterior)) return sparse->kernel().signal;
    double variance = 0;
    for (const double part : prior_variances(model)) variance += part;
    return variance;
}

} // namespace btml::gp
