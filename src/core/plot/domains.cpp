#include "core/plot/domains.hpp"

#include "core/plot/canvas/ticks.hpp"

namespace btml::plot {

namespace {

constexpr double largest = 4e307, limit = 8e307; // of values and of ends: differences of them are finite

constexpr double least = 1e-306; // of a logarithmic axis

// Widens the range by a share of its length to both sides.
void widen(Domain& domain, double share) {
    if (domain.logarithmic) {
        const double low = logarithm10(domain.low), high = logarithm10(domain.high), by = share * (high - low);
        domain.low = std::max(power10(std::max(low - by, -306.0)), least);
        domain.high = power10(std::min(high + by, 307.9));
        return;
    }
    const double by = share * (domain.high / 2 - domain.low / 2) * 2;
    domain.low = std::max(domain.low - by, -limit);
    domain.high = std::min(domain.high + by, limit);
}

// Gives a range of one value, or of values that differ by rounding only, a length.
void give_length(Domain& domain) {
    if (domain.logarithmic) {
        if (domain.high > domain.low * (1 + 1e-11)) return;
        domain.low = std::max(domain.low / 3, least);
        domain.high = std::min(domain.high * 3, limit);
        return;
    }
    const bool time = is_time(domain.kind);
    const double magnitude = std::max(std::fabs(domain.low), std::fabs(domain.high));
    const double resolution = time ? std::max(1e-6, magnitude * 1e-15) : std::max(1e-300, magnitude * 1e-11);
    if (domain.high / 2 - domain.low / 2 > resolution) return;
    const double by = time ? 43200 : magnitude < 1e-289 ? 1 : magnitude * 0.1;
    domain.low -= by;
    domain.high += by;
}

// Ends the range at round numbers.
void round_ends(Domain& domain) {
    const double step = number_step(domain.low, domain.high, 7, domain.whole);
    domain.low = std::max(std::floor(domain.low / step + 1e-9) * step, -limit);
    domain.high = std::min(std::ceil(domain.high / step - 1e-9) * step, limit);
}

// Makes room for labels at the ends of bars.
void widen_for_labels(Domain& domain) {
    static constexpr double share = 0.1;
    const double by = share * (domain.high / 2 - domain.low / 2) * 2;
    if (domain.high > 0) domain.high += by;
    if (domain.low < 0) domain.low -= by;
}

bool any(std::span<const Layer> layers, bool Mark::*has) {
    return std::any_of(layers.begin(), layers.end(), [=](const Layer& layer) { return layer.mark().*has; });
}

// Makes room for half a row at both ends, where rows take a share of the axis, and says whether they do.
bool widen_for_rows(Part part, Domain& domain, const Rows& rows, std::span<const Layer> layers, RunContext& context) {
    double share = -1;
    for (const Layer& layer : layers) {
        if (!(part == Part::x ? layer.mark().has_width : layer.mark().has_height)) continue;
        share = std::max(share, smallest_gap(rows, layer.rows, part, domain, context).value_or(0) / 2);
    }
    if (share >= 0) widen(domain, share);
    return share >= 0;
}

} // namespace

Domain domain_of(Part part, const Rows& rows, std::span<const Layer> layers, RunContext& context) {
    Domain domain = rows.shape().axis(part);
    if (domain.kind == ValueKind::category) {
        domain.low = -0.5;
        domain.high = static_cast<double>(std::max<size_t>(rows.categories(part), 1)) - 0.5;
        return domain;
    }
    const ValueRange extent = range_of([=](const Mark& mark) { return part == Part::x ? bit(Part::x) : mark.along_y; },
                                       rows, layers, context, domain.logarithmic);
    if (extent.is_empty()) {
        domain.low = domain.logarithmic ? 0.1 : 0;
        return domain;
    }
    domain.low = std::clamp(extent.low, domain.logarithmic ? least : -largest, largest);
    domain.high = std::max(std::min(extent.high, largest), domain.low);
    const bool linear_y = part == Part::y && domain.kind == ValueKind::number && !domain.logarithmic;
    const bool near_zero = domain.low > 0 && domain.low < 0.3 * domain.high && !any(layers, &Mark::coloured);
    if (linear_y && (any(layers, &Mark::from_zero) || near_zero)) {
        domain.low = std::min(domain.low, 0.0);
        domain.high = std::max(domain.high, 0.0);
    }
    if (linear_y && rows.shape().has(Part::label) && any(layers, &Mark::horizontal)) widen_for_labels(domain);
    give_length(domain);
    if (widen_for_rows(part, domain, rows, layers, context)) return domain;
    const bool room = any(layers, &Mark::padded) || domain.logarithmic || part == Part::y;
    if (room && !(linear_y && (domain.low == 0 || domain.high == 0)))
        widen(domain, any(layers, &Mark::padded) ? 0.03 : 0.01);
    if (linear_y) round_ends(domain);
    return domain;
}

ValueRange range_of(const std::function<Parts(const Mark&)>& parts_of, const Rows& rows, std::span<const Layer> layers,
                    RunContext& context, bool positive) {
    ValueRange range;
    for (const Layer& layer : layers)
        for (size_t i = 0; i < number_parts; i++) {
            const auto part = static_cast<Part>(i);
            if ((parts_of(layer.mark()) & bit(part)) == 0) continue;
            for (const uint32_t row : layer.rows) {
                if (rows.has(row, part) && !(positive && rows.number(row, part) <= 0))
                    range.add(rows.number(row, part));
                context.worked(1);
            }
        }
    return range;
}

} // namespace btml::plot
