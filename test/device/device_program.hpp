// What the programs for a CUDA device share: a host that asks for one, and the way in.
#pragma once

#include "core/device/library.hpp"
#include "core/kernel/attention.hpp"

#include <cstdio>
#include <filesystem>

namespace btml::test {

class DeviceContext : public QuietContext {
  public:
    DeviceContext(std::string library, int threads) : QuietContext(threads) { device().library = std::move(library); }
};

// Calls body(library) for main(): its argument is the path of btml_cuda.so.
template <class Body>
int run_with_library(int arguments, char** argument, const Body& body) {
    if (arguments == 2) return body(std::filesystem::absolute(argument[1]));
    std::fprintf(stderr, "usage: %s path/of/btml_cuda.so\n", argument[0]);
    return 2;
}

} // namespace btml::test
