#include "core/gp/member_search.hpp"

#include <algorithm>

namespace btml::gp {

// The features' bits in turn, most significant first.
static BitOrder bits_in_turn(const Encoding& encoding) {
    BitOrder order;
    for (int bit = 0; order.size() < encoding.bits(); bit++)
        for (size_t f = 0; f < encoding.features().size(); f++)
            if (bit < encoding.features()[f].bits()) order.push_back(static_cast<uint16_t>(f));
    return order;
}

// Mostly signal, the same at every level.
static Kernel first_guess(size_t levels, const KernelLimits& limits) {
    const double signal = limits.signal.value_or(0.9);
    return {std::vector<double>(levels, signal / static_cast<double>(std::max<size_t>(1, levels))),
            limits.noise.value_or(limits.least_noise + 0.1)};
}

FoundMember find_member(const Encoding& encoding, const DistinctRows& rows, const Options& options,
                        const KernelLimits& limits, int evaluations, uint64_t, RunContext& context) {
    if (options.search != Search::none)
        throw Error(ErrorCode::not_supported, format("search => '%s' is not available yet", name_of(options.search)),
                    {}, "Use search => 'none'.");
    BitOrder order = bits_in_turn(encoding);
    RowSorter sorter(rows.rows, context);
    const SortedRows& sorted = sorter.propose(bits_of_levels(encoding, order), context);
    Observations observations = make_observations({}, {}, context);
    gather(rows.observations, sorted.rows.span(), observations, context);
    KernelFit fit =
        fit_kernel(sorted.common.span(), observations, first_guess(order.size(), limits), limits, evaluations, context);
    return {std::move(order), std::move(fit.kernel), fit.negative_log_likelihood,
            static_cast<uint64_t>(fit.evaluations)};
}

} // namespace btml::gp
