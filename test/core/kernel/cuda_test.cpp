#include "caught.hpp"
#include "kernel_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace btml::kernel {
namespace {

using namespace btml::test;

Estimates evaluate(Kernel kernel, size_t dimensions, size_t columns, const std::string& library, RunContext& context) {
    const Rows keys = normal_rows(700, dimensions, 1, 1), values = normal_rows(700, columns, 1, 2);
    Rows positive = values;
    for (std::vector<double>& row : positive) row[0] = 0.1 + std::abs(row[0]);
    Options options = exact_options(std::sqrt(static_cast<double>(dimensions)), kernel);
    options.cuda_library = library;
    KernelSums sums(keys_of(keys, positive, context), columns > 1 ? Quantity::mean : Quantity::sum, options, context);
    return sums.evaluate(points_of(normal_rows(130, dimensions, 1, 3), context));
}

TEST(Cuda, WithoutTheLibraryTheProcessorSums) {
    QuietContext context(2);
    const Estimates expected = evaluate(Kernel{}, 3, 1, "", context);
    EXPECT_EQ(expected.report.device_failure, "");
    const Estimates estimates = evaluate(Kernel{}, 3, 1, "/nowhere/btml_cuda.so", context);
    EXPECT_NE(estimates.report.device_failure.find("/nowhere/btml_cuda.so"), std::string::npos)
        << estimates.report.device_failure;
    EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), estimates.values.begin()));
}

TEST(Cuda, SumsAreThoseOfTheProcessor) {
    const char* const library = std::getenv("BTML_CUDA_LIBRARY");
    if (!library) GTEST_SKIP() << "BTML_CUDA_LIBRARY names no library";
    QuietContext context(2);
    const Estimates first = evaluate(Kernel{}, 3, 1, library, context);
    if (!first.report.device_failure.empty()) GTEST_SKIP() << first.report.device_failure;
    for (const Kernel kernel : all_kernels)
        for (const size_t dimensions : {1, 3, 16, 33, 100})
            for (const size_t columns : {1, 2, 20}) {
                const Estimates expected = evaluate(kernel, dimensions, columns, "", context),
                                estimates = evaluate(kernel, dimensions, columns, library, context);
                double scale = 0;
                for (const double value : expected.values) scale = std::max(scale, std::abs(value));
                for (size_t i = 0; i < expected.values.size(); i++)
                    ASSERT_NEAR(estimates.values[i], expected.values[i], 1e-4 * scale)
                        << static_cast<int>(kernel) << ' ' << dimensions << ' ' << columns << ' ' << i;
            }
}

} // namespace
} // namespace btml::kernel
