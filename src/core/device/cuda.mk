# How btml_cuda.so is built, from the project's own folder: for the Makefile, and for test/device, which has no
# PostgreSQL. CUDA_ARCH=native builds for the device at hand alone.
NVCC = nvcc
CUDA_ARCH = all-major
cuda_sources = $(wildcard src/core/device/cuda/*.cu)
cuda_headers = src/core/device/device_abi.h $(wildcard src/core/device/cuda/*.cuh src/core/pairwise/kernels/*.hpp)
compile_cuda = $(NVCC) -std=c++20 -O3 -arch=$(CUDA_ARCH) $(if $(filter 1,$(WERROR)),-Werror=all-warnings) -Isrc \
    -Xcompiler -fPIC,-Wall,-Wextra --shared -cudart static $(cuda_sources) -lcublas -o
