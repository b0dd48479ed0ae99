// Bytes of a Gaussian process from anywhere: they decode, or are refused; what decodes can be used and encodes to the
// same bytes.
#include "core/gp/gp_predictor.hpp"
#include "core/gp/sampler.hpp"
#include "core/gp/update.hpp"

#include <cstdlib>

using namespace btml;

static void use(gp::Model& model, RunContext& context) {
    const std::vector<double> features(model.features.size(), 0.5);
    gp::Predictor(model).score(features, 0.5);
    gp::relevance(model);
    try {
        std::vector<double> draw(1);
        gp::Sampler(model, features, context).draw(1, 2, draw);
        gp::insert(model, features, 0.5, context);
        gp::remove(model, features, 0.5, context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::not_supported) std::abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    QuietContext context(1, uint64_t{1} << 30);
    try {
        Reader reader(bytes);
        gp::Model model = gp::decode(reader, context);
        reader.finish();
        // Options may be absent or in another order; what was written once is written again.
        Writer writer(context), again(context);
        gp::encode(model, writer);
        Reader written(writer.bytes());
        gp::encode(gp::decode(written, context), again);
        const auto first = writer.bytes(), second = again.bytes();
        if (!std::equal(first.begin(), first.end(), second.begin(), second.end())) std::abort();
        use(model, context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
