// Bytes of a linear model from anywhere: they decode, or are refused; what decodes can be used and encodes to the same
// bytes.
#include "core/linear/coefficients.hpp"
#include "core/linear/linear_predictor.hpp"

#include <cstdlib>

using namespace btml;

static void use(const linear::Model& model) {
    const std::vector<double> features(model.features.size(), 0.5);
    std::vector<double> adds(model.features.size());
    linear::Predictor predictor(model);
    predictor(features);
    predictor.contributions(features, adds);
    if (predictor.has_errors()) predictor.mean_interval(features, 0.9);
    linear::coefficients(model, {});
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    QuietContext context(1, uint64_t{1} << 30);
    try {
        Reader reader(bytes);
        const linear::Model model = linear::decode(reader);
        reader.finish();
        Writer writer(context), again(context);
        linear::encode(model, writer);
        Reader written(writer.bytes());
        linear::encode(linear::decode(written), again);
        const auto first = writer.bytes(), second = again.bytes();
        if (!std::equal(first.begin(), first.end(), second.begin(), second.end())) std::abort();
        use(model);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
