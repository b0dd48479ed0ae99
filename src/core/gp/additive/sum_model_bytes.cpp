#include "core/gp/additive/sum_model.hpp"

#include <bit>
#include <cmath>

namespace btml::gp {

static constexpr size_t max_members = 1000;
static constexpr double max_calibration = 1e6;

static float get_finite_float(Reader& reader) {
    const float value = std::bit_cast<float>(reader.get<uint32_t>());
    if (!std::isfinite(value)) corrupt_model("A number that must be finite is not.");
    return value;
}

static void put_finite_float(float value, Writer& writer) {
    writer.require_finite(static_cast<double>(value));
    writer.put(std::bit_cast<uint32_t>(value));
}

static void put(const SumModel::Member& member, Writer& writer) {
    encode_order(member.order, writer);
    for (const double weight : member.weights) writer.put_finite(weight);
}

static SumModel::Member get_member(Reader& reader, const Encoding& encoding, double noise) {
    SumModel::Member member{decode_order(reader, encoding), {}};
    for (size_t level = 0; level < member.order.size(); level++) member.weights.push_back(reader.get_double());
    try {
        Kernel{member.weights, noise}.validate();
    } catch (const Error& error) {
        corrupt_model(format("In a member, %s.", error.what()));
    }
    return member;
}

void SumModel::encode(Writer& writer) const {
    writer.put(parts_.seed);
    writer.put_positive(parts_.noise);
    writer.put_positive(parts_.calibration);
    writer.put_finite(parts_.residuals.targets);
    writer.put_finite(parts_.residuals.samples);
    parts_.encoding.encode(writer);
    writer.put_count(parts_.members.size());
    for (const Member& member : parts_.members) put(member, writer);
    gp::encode(parts_.rows, writer);
    for (size_t i = 0; i < rows(); i++)
        for (size_t s = 0; s < 1 + samples; s++)
            put_finite_float(s < Columns::count ? parts_.first[i][s] : parts_.second[i][s - Columns::count], writer);
}

SumModel SumModel::decode(Reader& reader, RunContext& context) {
    const auto seed = reader.get<uint64_t>();
    const double noise = reader.get_finite(), calibration = reader.get_finite();
    if (!(calibration > 0 && calibration <= max_calibration)) corrupt_model("Its calibration is out of range.");
    const SumResiduals residuals{reader.get_finite(), reader.get_finite()};
    if (!(residuals.targets >= 0 && residuals.samples >= 0)) corrupt_model("A residual is negative.");
    Parts parts(Encoding::decode(reader), seed, context.memory());
    parts.noise = noise;
    parts.calibration = calibration;
    parts.residuals = residuals;
    for (const FeatureBits& feature : parts.encoding.features())
        if (feature.shift) corrupt_model("A feature of its kernel sum has a shift.");
    const size_t count = reader.get_count(sizeof(uint32_t));
    if (count == 0 || count > max_members) corrupt_model(format("It is a sum of %zu kernels.", count));
    for (size_t m = 0; m < count; m++) parts.members.push_back(get_member(reader, parts.encoding, noise));
    parts.rows = decode_training_columns(reader, parts.encoding, context);
    const size_t rows = parts.rows.rows();
    if (rows == 0 || rows >= max_rows) corrupt_model(format("It has %zu points.", rows));
    if (reader.remaining() / ((1 + samples) * sizeof(float)) < rows) corrupt_model("It ends before its solutions.");
    parts.first.resize(rows);
    parts.second.resize(rows);
    context.for_each(rows, 16, [&](size_t i) {
        for (size_t s = 0; s < Columns::count; s++) parts.first[i].values[s] = get_finite_float(reader);
        for (size_t s = 0; s + 1 < Columns::count; s++) parts.second[i].values[s] = get_finite_float(reader);
        parts.second[i].values[Columns::count - 1] = 0;
    });
    return SumModel(std::move(parts), context);
}

} // namespace btml::gp
