#include "core/gp/tree/encoding.hpp"

#include "core/gp/tree/tree_kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

int bits_of_places(uint32_t places) {
    return places > 1 ? static_cast<int>(std::bit_width(places - 1)) : 0;
}

FeatureBits number_bits(const FeatureView& view, int value_bits, std::optional<double> shift, NumberPlaces places,
                        RunContext& context) {
    Buffer<double> of_rows(context.memory(), "numbers of a feature", view.ids.size());
    context.for_each(of_rows.size(), 1, [&](size_t row) { of_rows[row] = view.value(row); });
    const std::span<const double> numbers = view.ids.empty() ? view.numbers : of_rows.span();
    FeatureBits feature;
    feature.shift = shift;
    bool numberless = true, below = false, above = false; // infinities, and NaN
    context.for_each(numbers.size(), 2, [&](size_t i) {
        const double x = numbers[i];
        if (is_null(x))
            feature.null_bit = true;
        else if (std::isfinite(x))
            numberless = false;
        else
            (x < 0 ? below : above) = true;
    });
    feature.scale = std::make_shared<NumberScale>(numbers, value_bits, places, context);
    const bool constant = feature.scale->least() == feature.scale->greatest() && below + above + !numberless < 2;
    feature.value_bits = constant ? 0 : value_bits;
    return feature;
}

// Of categories with a few rows each, means of targets are about those rows: where they differ no more than chance has
// them differ, an order by them would only flatter the scores of rows that are in them.
class MeansOfCategories {
  public:
    explicit MeansOfCategories(size_t categories) : categories_(categories) {}

    void add(uint32_t code, double target, double weight) {
        OfCategory& category = categories_[code];
        category.sum += weight * target;
        category.squares += weight * target * target;
        category.weight += weight;
        rows_ += weight > 0;
    }
    bool is_seen(uint32_t code) const { return categories_[code].weight > 0; }
    double mean(uint32_t code) const { return categories_[code].sum / categories_[code].weight; }

    // By the F statistic of a one-way analysis of variance, against its mean and standard deviation where all means are
    // the same.
    bool say_something() const {
        constexpr double many_rows = 20, deviations = 3; // many: of a category
        OfCategory all;
        double count = 0, between = 0, within = 0;
        for (const OfCategory& category : categories_) {
            if (!(category.weight > 0)) continue;
            count++;
            all.sum += category.sum;
            all.weight += category.weight;
            between += category.sum * category.sum / category.weight;
            within += std::max(0.0, category.squares - category.sum * category.sum / category.weight);
        }
        if (rows_ >= many_rows * count) return true;
        const double others = count - 1, rest = rows_ - count;
        if (others < 1 || rest < 1) return false;
        const double f = (between - all.sum * all.sum / all.weight) / others / (within / rest);
        return f > 1 + deviations * std::sqrt(2 / others + 2 / rest);
    }

  private:
    struct OfCategory {
        double sum = 0, squares = 0, weight = 0;
    };
    std::vector<OfCategory> categories_;
    double rows_ = 0;
};

FeatureBits category_bits(const FeatureView& view, std::span<const double> target, std::span<const double> weight,
                          int value_bits, RunContext& context) {
    FeatureBits feature;
    feature.categorical = true;
    feature.places.assign(view.categories, FeatureBits::unseen);
    MeansOfCategories means(view.categories);
    for (size_t i = 0; i < view.rows(); i++) {
        context.worked(4);
        const uint32_t code = view.codes[view.place(i)];
        if (code == FeatureView::null_code) {
            feature.null_bit = true;
            continue;
        }
        if (code >= view.categories)
            throw Error(ErrorCode::internal, format("category code %u of %u", code, view.categories));
        means.add(code, target[i], weight.empty() ? 1 : weight[i]);
    }
    std::vector<uint32_t> seen;
    for (uint32_t code = 0; code < view.categories; code++)
        if (means.is_seen(code)) seen.push_back(code);
    if (means.say_something())
        std::stable_sort(seen.begin(), seen.end(),
                         [&](uint32_t a, uint32_t b) { return means.mean(a) < means.mean(b); });
    feature.seen = seen.size();
    for (uint32_t place = 0; place < feature.seen; place++) feature.places[seen[place]] = place;
    feature.value_bits = std::min(value_bits, bits_of_places(feature.seen));
    return feature;
}

ValueBits bits_of_number(double x, const FeatureBits& feature) {
    const bool outside = feature.scale->is_outside(x);
    if (feature.value_bits == 0) return {0, feature.bits(), outside};
    double scaled = feature.scale->place(x);
    if (feature.shift) scaled = (scaled + *feature.shift / 2) / 1.5;
    const double cells = uint32_t{1} << feature.value_bits;
    return {static_cast<uint32_t>(std::min(scaled * cells, cells - 1)), feature.bits(), outside};
}

ValueBits bits_of_code(uint32_t code, const FeatureBits& feature) {
    const uint32_t place = code < feature.places.size() ? feature.places[code] : FeatureBits::unseen;
    if (place == FeatureBits::unseen) return {0, feature.null_bit, false};
    const uint64_t cell = (static_cast<uint64_t>(place) << feature.value_bits) / feature.seen;
    return {static_cast<uint32_t>(cell), feature.bits(), false};
}

ValueBits bits_of_null(const FeatureBits& feature) {
    if (!feature.null_bit) return {0, 0, false};
    return {uint32_t{1} << feature.value_bits, feature.bits(), false};
}

} // namespace

int Encoding::default_value_bits(size_t features) {
    return features == 0 ? 8 : static_cast<int>(std::min<size_t>(8, 150 / features + 1));
}

Encoding::Encoding(std::span<const FeatureView> features, std::span<const double> target,
                   std::span<const double> weight, int value_bits, std::span<const double> shifts, RunContext& context,
                   NumberPlaces places) {
    if (value_bits < 1 || value_bits > max_value_bits)
        throw Error(ErrorCode::invalid_argument, format("invalid bits %d", value_bits), {},
                    format("It is a number of bits per feature from 1 to %d.", max_value_bits));
    for (size_t f = 0; f < features.size(); f++) {
        const std::optional<double> shift = shifts.empty() ? std::nullopt : std::optional(shifts[f]);
        features_.push_back(features[f].categorical ? category_bits(features[f], target, weight, value_bits, context)
                                                    : number_bits(features[f], value_bits, shift, places, context));
    }
    index_bits();
    if (bits() > max_levels)
        throw Error(ErrorCode::limit_exceeded,
                    format("%zu features of %d bits have %zu bits together, the limit is %zu", features.size(),
                           value_bits, bits(), max_levels));
}

void Encoding::index_bits() {
    first_bits_.assign(1, 0);
    for (const FeatureBits& feature : features_) first_bits_.push_back(first_bits_.back() + feature.bits());
}

Encoding Encoding::shifted(std::span<const double> shifts) const {
    Encoding result = *this;
    for (size_t f = 0; f < features_.size(); f++)
        if (!features_[f].categorical) result.features_[f].shift = shifts[f];
    return result;
}

NumberPlaces Encoding::places() const {
    const bool ranks = std::any_of(features_.begin(), features_.end(), [](const FeatureBits& feature) {
        return !feature.categorical && feature.scale->places() == NumberPlaces::ranks;
    });
    return ranks ? NumberPlaces::ranks : NumberPlaces::values;
}

void Encoding::put(uint64_t* row, size_t feature, uint32_t code) const {
    const size_t first = first_bits_[feature], word = first / 64;
    const int count = features_[feature].bits(), room = 64 - static_cast<int>(first % 64);
    if (count == 0) return;
    if (count <= room) {
        row[word] |= static_cast<uint64_t>(code) << (room - count);
    } else {
        row[word] |= static_cast<uint64_t>(code) >> (count - room);
        row[word + 1] |= static_cast<uint64_t>(code) << (64 - (count - room));
    }
}

ValueBits Encoding::value_bits(size_t feature, double value) const {
    const FeatureBits& bits = features_[feature];
    if (is_null(value)) return bits_of_null(bits);
    if (!bits.categorical) return bits_of_number(value, bits);
    const bool is_code = value >= 0 && value < static_cast<double>(bits.places.size());
    return bits_of_code(is_code ? static_cast<uint32_t>(value) : FeatureBits::unseen, bits);
}

BitRows Encoding::encode_rows(std::span<const FeatureView> features, RunContext& context,
                              std::optional<std::span<const uint32_t>> chosen) const {
    const size_t rows = chosen ? chosen->size() : features.empty() ? 0 : features[0].rows(), words = (bits() + 63) / 64;
    BitRows result{rows, words, Buffer<uint64_t>(context.memory(), "rows' bits", rows * words, 0)};
    for (size_t f = 0; f < features.size(); f++) {
        if (features_[f].bits() == 0) continue;
        context.for_each(rows, 4, [&](size_t i) {
            const double value = features[f].value(chosen ? (*chosen)[i] : i);
            put(result.data.data() + i * words, f, value_bits(f, value).code);
        });
    }
    return result;
}

void Encoding::encode(Writer& writer) const {
    writer.put_count(features_.size());
    for (const FeatureBits& feature : features_) {
        writer.put(feature.categorical);
        writer.put(feature.null_bit);
        writer.put(static_cast<uint8_t>(feature.value_bits));
        if (feature.categorical) {
            writer.put_count(feature.places.size());
            for (const uint32_t place : feature.places) writer.put(place);
        } else {
            feature.scale->encode(writer);
            writer.put(feature.shift.has_value());
            if (feature.shift) writer.put_finite(*feature.shift);
        }
    }
}

static void decode_places(Reader& reader, FeatureBits& feature) {
    const size_t count = reader.get_count(sizeof(uint32_t));
    reader.hold(count * sizeof(uint32_t));
    feature.places.resize(count);
    for (uint32_t& place : feature.places) {
        place = reader.get<uint32_t>();
        feature.seen += place != FeatureBits::unseen;
    }
    std::vector<bool> taken(feature.seen, false);
    for (const uint32_t place : feature.places) {
        if (place == FeatureBits::unseen) continue;
        if (place >= feature.seen || taken[place])
            corrupt_model("The places of a feature's categories are in conflict.");
        taken[place] = true;
    }
    if (feature.value_bits > bits_of_places(feature.seen)) corrupt_model("A category has too many bits.");
}

static void decode_scale(Reader& reader, FeatureBits& feature) {
    feature.scale = std::make_shared<NumberScale>(NumberScale::decode(reader));
    if (reader.get_bool()) {
        feature.shift = reader.get_finite();
        if (*feature.shift < 0 || *feature.shift >= 1) corrupt_model("The shift of a feature is out of range.");
    }
}

Encoding Encoding::decode(Reader& reader) {
    Encoding encoding;
    const size_t features = reader.get_count(7);
    reader.hold(features * sizeof(FeatureBits));
    encoding.features_.reserve(features);
    for (size_t f = 0; f < features; f++) {
        FeatureBits feature;
        feature.categorical = reader.get_bool();
        feature.null_bit = reader.get_bool();
        feature.value_bits = reader.get<uint8_t>();
        if (feature.value_bits > max_value_bits) corrupt_model(format("A feature has %d bits.", feature.value_bits));
        if (feature.categorical)
            decode_places(reader, feature);
        else
            decode_scale(reader, feature);
        encoding.features_.push_back(std::move(feature));
    }
    encoding.index_bits();
    if (encoding.bits() > max_levels) corrupt_model(format("Its features have %zu bits.", encoding.bits()));
    return encoding;
}

} // namespace btml::gp
