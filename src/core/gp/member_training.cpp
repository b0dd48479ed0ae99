#include "core/gp/member_training.hpp"

#include "core/numbers/rng.hpp"

namespace btml::gp {

static Encoding shifted(Encoding encoding, uint64_t seed, size_t member) {
    if (member == 0) return encoding;
    std::vector<double> shifts;
    for (size_t f = 0; f < encoding.features().size(); f++) shifts.push_back(random_unit(seed, member, f));
    return encoding.shifted(shifts);
}

Candidate find_member(const TrainingColumns& rows, const Options& options, const Encoding& encoding,
                      KernelLimits limits, size_t member, uint64_t evaluations, RunContext& context) {
    const std::vector<FeatureView> views = rows.views();
    const uint64_t seed = options.seed;
    Encoding own = shifted(encoding, seed, member);
    const double unit = unit_of_weights(rows.weight.span());
    const DistinctRows distinct = [&] {
        const BitRows bits = own.encode_rows(views, context);
        Observations observations = make_observations(rows.target.span(), rows.weight.span(), context);
        divide_weights(observations, unit);
        return merge_equal_rows(bits, own.bits(), observations, context);
    }();
    if (limits.noise) *limits.noise /= unit;
    limits.min_noise /= unit;
    OrderedKernel found = search_order(own, distinct, {options.search, evaluations, limits, seed, member}, context);
    found.kernel.noise *= unit;
    return {std::move(own), std::move(found)};
}

MemberRows::MemberRows(const Encoding& encoding, const BitOrder& order, const TrainingColumns& columns,
                       RunContext& context)
    : StringRows(encoding, order, columns.views(), context), observations(context.memory()) {
    const Observations unsorted = make_observations(columns.target.span(), columns.weight.span(), context);
    gather(unsorted, sorted.rows.span(), observations, context);
}

Normals MemberRows::leave_one_out(const Kernel& kernel, RunContext& context) const {
    return gp::leave_one_out(sorted.common.span(), observations, kernel, context);
}

Trie MemberRows::trie(const Kernel& kernel, RunContext& context) const {
    return Trie(rows, bits, sorted, observations, kernel, context);
}

} // namespace btml::gp
