#include "covariance_product.hpp"

#include "core/gp/tree/contrasts.hpp"

namespace btml::gp {

namespace {

struct Sum {
    double sum;
    int32_t level;
};

} // namespace

// An edge of the trie adds its share of the covariance times the sum below it to every row below it: sums on the way
// up, and the additions on the way down, as in the likelihood's gradient.
void covariance_product(std::span<const uint16_t> common, const Kernel& kernel, std::span<const double> vector,
                        std::span<double> product, RunContext& context) {
    const size_t rows = vector.size(), levels = kernel.levels();
    const std::vector<double> c = kernel.covariances();
    Buffer<Sum> meetings(context.memory(), "covariance product", rows); // the sum of both, and where they meet
    size_t meeting = 0;
    std::vector<Sum> open(levels + 2);
    Sum* last = open.data();
    *last = {0, -1};
    for (size_t i = 0; i < rows; i++) {
        context.worked(1);
        double sum = vector[i];
        for (; last->level >= common[i]; last--) {
            sum += last->sum;
            meetings[meeting++] = {sum, last->level};
        }
        *++last = {sum, common[i]};
    }
    std::vector<double> waiting(levels + 1, 0.0);
    for (size_t i = rows; i-- > 0;) {
        context.worked(1);
        size_t level = common[i];
        double value = waiting[level];
        if (i > 0 && common[i - 1] >= level) {
            do {
                const Sum& below = meetings[--meeting];
                value += (c[static_cast<size_t>(below.level)] - c[level]) * below.sum;
                level = static_cast<size_t>(below.level);
                waiting[level] = value;
            } while (level != common[i - 1]);
        }
        product[i] = value + (c[levels] - c[level]) * vector[i];
    }
}

} // namespace btml::gp
