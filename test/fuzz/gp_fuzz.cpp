// Bytes of an encoding and a trie from anywhere: they decode, or are refused; what decodes can be used and encodes to
// the same bytes.
#include "core/gp/tree/joint_posterior.hpp"
#include "core/gp/tree/row_sorter.hpp"

#include <cstdlib>

using namespace btml;

static void use(gp::Trie& trie) {
    const std::vector<uint64_t> words(trie.words(), 0x5555555555555555);
    const size_t levels = trie.kernel().levels();
    const std::vector<gp::String> points = {{words.data(), levels}, {words.data(), levels / 2}};
    QuietContext context;
    for (const gp::String& point : points) trie.latent(point);
    trie.negative_log_likelihood();
    const gp::JointPosterior joint(trie, points, context);
    std::vector<double> values(points.size());
    joint.draw(1, 2, values);
    if (levels % 64 == 0) trie.insert(points[0], 0.5, 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    try {
        Reader reader(bytes);
        const gp::Encoding encoding = gp::Encoding::decode(reader);
        const gp::BitOrder order(1, 0);
        const std::vector<double> features(encoding.features().size(), 0.5);
        if (encoding.bits() > 0 && encoding.features()[0].bits() > 0) gp::PointEncoder(encoding, order)(features);
        QuietContext context(1, uint64_t{1} << 30);
        gp::Trie trie = gp::Trie::decode(reader, context);
        reader.finish();
        Writer writer(context);
        encoding.encode(writer);
        trie.encode(writer);
        if (!std::equal(bytes.begin(), bytes.end(), writer.bytes().begin(), writer.bytes().end())) std::abort();
        use(trie);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) std::abort();
    }
    return 0;
}
