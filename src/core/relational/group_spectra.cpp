#include "core/relational/group_spectra.hpp"

namespace btml::relational {

TransformedGroups::TransformedGroups(const HashedRows& hashed, uint64_t min_rows, MemoryBudget& memory)
    : numbers(memory, "the row groups of a join", hashed.groups().count(), none),
      groups(memory, "the row groups of a join") {
    for (uint64_t group = 0; group < numbers.size(); group++) {
        if (hashed.groups().size(group) < min_rows) continue;
        numbers[group] = static_cast<uint32_t>(groups.size());
        groups.push_back(static_cast<uint32_t>(group));
    }
}

void store(const FourierTransform& fourier, const Frequencies& frequencies, Spectrum::Value* spectrum) {
    const FourierTransform::Complex* const output = fourier.output();
    std::fill(spectrum, spectrum + frequencies.blocks(), Spectrum::zero());
    for (uint64_t w = 0; w < frequencies.count(); w++) {
        Spectrum::Value& block = spectrum[w / Spectrum::width];
        block.re[w % Spectrum::width] = output[w].real();
        block.im[w % Spectrum::width] = output[w].imag();
    }
}

} // namespace btml::relational
