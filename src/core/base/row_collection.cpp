#include "core/base/row_collection.hpp"

#include "core/base/serial.hpp"

#include <bit>
#include <cmath>

namespace btml {

// features 4, skipped 8, has options 1, length of options 4, options, rows 8, values
static constexpr size_t fixed_bytes = 4 + 8 + 1 + 4 + 8;

void RowCollection::set_options(std::string_view options) {
    const std::string_view before(options_.data(), options_.size());
    if (has_options_ && options != before)
        throw Error(ErrorCode::invalid_argument, "options must be the same in every row of an aggregate",
                    format("One row has %s, another %s.", std::string(before).c_str(), std::string(options).c_str()));
    if (has_options_) return;
    options_.resize(options.size());
    std::copy(options.begin(), options.end(), options_.begin());
    has_options_ = true;
}

void RowCollection::set_features(size_t count) {
    if (count == 0) throw Error(ErrorCode::invalid_argument, "x must have at least one element");
    if (count > max_features)
        throw Error(ErrorCode::limit_exceeded,
                    format("x has %zu elements, at most %u are possible", count, max_features));
    if (features_ == none) features_ = static_cast<uint32_t>(count);
    if (features_ != count)
        throw Error(ErrorCode::invalid_argument, format("x has %zu elements, an earlier row has %u", count, features_));
}

void RowCollection::add(double target, std::span<const double> features) {
    if (!std::isfinite(target))
        throw Error(ErrorCode::out_of_range,
                    format("target y is %s in a row", std::isnan(target) ? "NaN" : "infinite"));
    set_features(features.size());
    values_.reserve(values_.size() + features.size() + 1);
    values_.push_back(target);
    for (double x : features) values_.push_back(x);
}

void RowCollection::append(const RowCollection& other, RunContext& context) {
    skipped_ += other.skipped_;
    if (other.has_options_) set_options(other.options());
    if (other.features_ == none) return;
    set_features(other.features_);
    values_.reserve(values_.size() + other.values_.size());
    for (size_t i = 0; i < other.values_.size(); i++) {
        values_.append_reserved(other.values_[i]);
        context.worked(1);
    }
}

uint64_t RowCollection::flat_size() const noexcept {
    return fixed_bytes + options_.size() + values_.size() * sizeof(double);
}

// Called by PostgreSQL, from C: nothing here may throw.
void RowCollection::flatten(std::byte* to) const noexcept {
    const auto put = [&](auto value) {
        for (size_t i = 0; i < sizeof(value); i++) *to++ = static_cast<std::byte>(value >> (8 * i));
    };
    put(features_);
    put(skipped_);
    put(static_cast<uint8_t>(has_options_));
    put(static_cast<uint32_t>(options_.size()));
    to = std::copy_n(reinterpret_cast<const std::byte*>(options_.data()), options_.size(), to);
    put(rows());
    for (double value : values_) {
        uint64_t bits = std::bit_cast<uint64_t>(value);
        if constexpr (std::endian::native == std::endian::big) bits = __builtin_bswap64(bits);
        std::memcpy(to, &bits, sizeof(bits));
        to += sizeof(bits);
    }
}

RowCollection RowCollection::parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
    RowCollection collection(budget);
    Reader reader(bytes);
    collection.features_ = reader.get<uint32_t>();
    collection.skipped_ = reader.get<uint64_t>();
    const bool has_options = reader.get_bool();
    const std::string options = reader.get_string();
    if (!has_options && !options.empty()) corrupt_model("It has options that no row has.");
    if (has_options) collection.set_options(options);
    const auto rows = reader.get<uint64_t>();
    const bool empty = collection.features_ == none;
    if (!empty && (collection.features_ == 0 || collection.features_ > max_features))
        corrupt_model(format("It has %u features.", collection.features_));
    const uint64_t width = empty ? 0 : uint64_t{collection.features_} + 1;
    if (empty
            ? rows != 0 || reader.remaining() != 0
            : rows > reader.remaining() / sizeof(double) / width || rows * width * sizeof(double) != reader.remaining())
        corrupt_model("Its rows do not fill its length.");
    collection.values_.resize(rows * width);
    for (uint64_t i = 0; i < rows * width; i++) {
        const double value = reader.get_double();
        if (i % width == 0 && !std::isfinite(value)) corrupt_model("A target is not finite.");
        collection.values_[i] = is_null(value) ? value : from_sql(value);
        context.worked(1);
    }
    return collection;
}

Dataset RowCollection::dataset(RunContext& context) const {
    MemoryBudget& budget = context.memory();
    const uint64_t count = rows();
    const size_t width = size_t{features_} + 1;
    Dataset dataset{.rows = count,
                    .tables = {},
                    .features = {},
                    .target_table = 0,
                    .target = Buffer<double>(budget, "the target", count),
                    .weight = Buffer<double>(budget, "weights"),
                    .holdout_table = -1,
                    .holdout = Buffer<uint8_t>(budget, "holdout flags")};
    dataset.tables.push_back({count, Buffer<uint32_t>(budget, "row ids")});
    for (uint64_t row = 0; row < count; row++) dataset.target[row] = values_[row * width];
    for (uint32_t f = 0; f < features_; f++) {
        FeatureColumn feature{"x" + std::to_string(f + 1),
                              "double precision",
                              FeatureKind::number,
                              0,
                              Buffer<double>(budget, "features", count),
                              Buffer<uint32_t>(budget, "features"),
                              {}};
        context.for_each(count, 4, [&](uint64_t row) { feature.numbers[row] = values_[row * width + f + 1]; });
        dataset.features.push_back(std::move(feature));
    }
    return dataset;
}

} // namespace btml
