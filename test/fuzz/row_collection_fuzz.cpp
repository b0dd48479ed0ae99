// Bytes of an aggregate's state from anywhere: they parse, or are refused; what parses flattens to as many bytes.
#include "core/base/error.hpp"
#include "core/data/row_collection.hpp"

#include <cstdlib>

using namespace btml;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    MemoryBudget budget(uint64_t{1} << 30);
    QuietContext context;
    try {
        const auto rows = RowCollection::parse({reinterpret_cast<const std::byte*>(data), size}, budget, context);
        if (rows.flat_size() != size) std::abort();
        std::vector<std::byte> flat(size);
        rows.flatten(flat.data());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
