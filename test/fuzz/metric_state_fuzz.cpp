// Bytes of an aggregate's state from anywhere: they parse, or are refused; what parses flattens to as many bytes, and
// has a value or overflows.
#include "core/metrics/metric_sums.hpp"
#include "core/metrics/ranked_rows.hpp"

#include <cstdlib>
#include <vector>

using namespace btml;

template <class Parse, class Use>
static void try_bytes(std::span<const std::byte> bytes, const Parse& parse, const Use& use) {
    try {
        const auto state = parse(bytes);
        if (state.flat_size() != bytes.size()) std::abort();
        std::vector<std::byte> flat(bytes.size());
        state.flatten(flat.data());
        use(state);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model && error.code() != ErrorCode::out_of_range) std::abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    MemoryBudget budget(uint64_t{1} << 30);
    QuietContext context;
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    try_bytes(
        bytes, [&](auto from) { return metrics::MetricSums::parse(from, budget); },
        [&](const auto& sums) { (void)sums.result(); });
    try_bytes(
        bytes, [&](auto from) { return metrics::RankedRows::parse(from, budget, context); },
        [&](const auto& rows) {
            (void)rows.auc(context), (void)rows.average_precision(context), (void)rows.ndcg(context);
        });
    return 0;
}
