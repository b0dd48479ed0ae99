// Bytes of a model from anywhere: they decode, or are refused; what decodes can be used and encodes to the same bytes.
#include "boosting/walking.hpp"
#include "core/base/envelope.hpp"
#include "core/boosting/explanations/explainer.hpp"
#include "core/boosting/trees/to_sql.hpp"

#include <cstdlib>

using namespace btml;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    QuietContext context;
    try {
        Reader reader(bytes, context);
        const boosting::Model model = boosting::decode(reader);
        reader.finish();
        // Options may be absent or in another order; what was written once is written again.
        Writer writer(context), again(context);
        boosting::encode(model, writer);
        Reader written(writer.bytes(), context);
        boosting::encode(boosting::decode(written), again);
        const auto first = writer.bytes(), second = again.bytes();
        if (!std::equal(first.begin(), first.end(), second.begin(), second.end())) std::abort();
        const std::vector<double> features(model.features.size(), 0.5);
        const double fast = boosting::Predictor(model, context)(features);
        const double plain = boosting::predict_by_walking(model, features);
        if (std::bit_cast<uint64_t>(fast) != std::bit_cast<uint64_t>(plain) && fast == fast) std::abort();
        constexpr size_t max_explained = 4096; // bytes: a path of many features takes the square of their number
        if (size <= max_explained) {
            std::vector<double> contributions((features.size() + 1) * model.scores());
            boosting::Explainer(model, context).contributions(features, contributions);
        }
        boosting::to_sql(model, context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    try {
        open_envelope(bytes);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
