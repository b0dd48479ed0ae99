// Bytes of a sum of binary tree kernels from anywhere: they decode, or are refused; what decodes can be used and
// encodes to the same bytes.
#include "core/gp/additive/sum_model.hpp"

#include <cstdlib>

using namespace btml;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    try {
        Reader reader(bytes);
        QuietContext context(1, uint64_t{1} << 28);
        gp::SumModel model = gp::SumModel::decode(reader, context);
        reader.finish();
        Writer writer(context);
        model.encode(writer);
        if (!std::equal(bytes.begin(), bytes.end(), writer.bytes().begin(), writer.bytes().end())) std::abort();
        const std::vector<double> point(model.encoding().features().size(), 0.5);
        model.latent(point);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model && error.code() != ErrorCode::memory_limit) std::abort();
    }
    return 0;
}
