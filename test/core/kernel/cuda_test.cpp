#include "caught.hpp"
#include "kernel_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace btml::kernel {
namespace {

using namespace btml::test;

Estimates evaluate(RunContext& context) {
    KernelSums sums(keys_of(normal_rows(700, 3, 1, 1), constant_values(700), context), Quantity::sum, exact_options(1),
                    context);
    return sums.evaluate(points_of(normal_rows(130, 3, 1, 3), context));
}

// What a device computes is tested by test/device.
TEST(Cuda, WithoutTheLibraryTheProcessorSums) {
    QuietContext context(2), asking(2);
    asking.device().library = "/nowhere/btml_cuda.so";
    const Estimates expected = evaluate(context), estimates = evaluate(asking);
    EXPECT_EQ(context.device().failure, "");
    EXPECT_NE(asking.device().failure.find("/nowhere/btml_cuda.so"), std::string::npos) << asking.device().failure;
    EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), estimates.values.begin()));
}

TEST(Cuda, WhereADeviceFailsTheProcessorSums) {
    QuietContext context(2), asking(2);
    asking.device().library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfailing_device.so";
    const Estimates expected = evaluate(context), estimates = evaluate(asking);
    EXPECT_EQ(asking.device().failure, "out of memory");
    EXPECT_EQ(estimates.report.reason, "the CUDA device failed");
    EXPECT_TRUE(std::equal(expected.values.begin(), expected.values.end(), estimates.values.begin()));
}

} // namespace
} // namespace btml::kernel
