// SPDX-License-Identifier: Apache-2.0
// An ordinary runtime API program: launches, memory, copies, symbols, streams, events, errors,
// kernel handles.
#include <cuda.h>

#include <cstring>
#include <numeric>
#include <string>
#include <thread>

#include "tests/integration/cudart/cuda_test.h"

namespace {

__device__ int table[4] = {10, 20, 30, 40};
__constant__ int factor = 3;
__managed__ int shared_counter = 5;

__global__ void fill(int* out, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i * factor + table[i % 4];
}
__global__ void add_one(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += 1;
}
__global__ void count_up() {
  atomicAdd(&shared_counter, 1);
}
__global__ void dynamic_shared(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}
__global__ void busy(long long cycles, int* out) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  *out = 1;
}

__global__ void sample(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float* out) {
  out[0] = tex2D<float>(texture, 1.0f, 1.0f);
  out[1] = tex2D<float>(texture, 1.5f, 0.5f);
  surf2Dwrite<unsigned char>(99, surface, 1, 1);
}

TEST(Launch, UsesArgumentsGlobalsAndConstants) {
  DeviceBuffer<int> out(100);
  fill<<<4, 32>>>(out.get(), 100, 7);
  ASSERT_CUDA(cudaGetLastError());
  const auto host = out.read();
  EXPECT_EQ(17, host[0]);
  EXPECT_EQ(7 + 99 * 3 + 40, host[99]);
}

TEST(Launch, TakesDynamicSharedMemoryAndAStream) {
  DeviceBuffer<int> out(64);
  cudaStream_t stream;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  dynamic_shared<<<1, 64, 64 * sizeof(int), stream>>>(out.get());
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(63, out.read()[0]);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST(Launch, OfTooManyThreadsIsAnInvalidConfiguration) {
  DeviceBuffer<int> out(1);
  add_one<<<1, 4096>>>(out.get(), 1);
  EXPECT_EQ(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidConfiguration, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError()) << "an error that is not sticky is told once";
  add_one<<<0, 32>>>(out.get(), 1);
  EXPECT_EQ(cudaErrorInvalidConfiguration, cudaGetLastError());
}

TEST(Launch, ByPointerExtendedAndByHandle) {
  DeviceBuffer<int> out(8);
  ASSERT_CUDA(cudaMemset(out.get(), 0, 8 * sizeof(int)));
  int* pointer = out.get();
  int n = 8;
  void* args[] = {&pointer, &n};
  ASSERT_CUDA(
      cudaLaunchKernel(reinterpret_cast<void*>(add_one), dim3(1), dim3(8), args, 0, nullptr));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(8);
  ASSERT_CUDA(cudaLaunchKernelEx(&config, add_one, pointer, n));
  cudaKernel_t kernel;
  ASSERT_CUDA(cudaGetKernel(&kernel, reinterpret_cast<void*>(add_one)));
  ASSERT_CUDA(
      cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(8), args, 0, nullptr));
  cudaFunction_t function;
  ASSERT_CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<void*>(add_one)));
  ASSERT_EQ(CUDA_SUCCESS, cuLaunchKernel(function, 1, 1, 1, 8, 1, 1, 0, nullptr, args, nullptr));
  EXPECT_EQ(4, out.read()[7]);
  EXPECT_EQ(cudaErrorInvalidDeviceFunction,
            cudaLaunchKernel(args, dim3(1), dim3(8), args, 0, nullptr));
  EXPECT_EQ(cudaErrorInvalidDeviceFunction, cudaGetLastError());
}

TEST(Memory, OfNothingIsNullAndManagedNothingIsRefused) {
  void* pointer = &pointer;
  EXPECT_CUDA(cudaMalloc(&pointer, 0));
  EXPECT_EQ(nullptr, pointer);
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMallocManaged(&pointer, 0));
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(&pointer));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&pointer, size_t{1} << 50));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
}

TEST(Memory, KindsAreTold) {
  DeviceBuffer<int> device(4);
  int *pinned = nullptr, *managed = nullptr, pageable = 0;
  ASSERT_CUDA(cudaMallocHost(&pinned, 64));
  ASSERT_CUDA(cudaMallocManaged(&managed, 64));
  cudaPointerAttributes attributes;
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, device.get()));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(cudaMemoryTypeHost, attributes.type);
  EXPECT_EQ(pinned, attributes.hostPointer);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, managed));
  EXPECT_EQ(cudaMemoryTypeManaged, attributes.type);
  ASSERT_CUDA(cudaPointerGetAttributes(&attributes, &pageable));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  EXPECT_CUDA(cudaFreeHost(pinned));
  EXPECT_CUDA(cudaFree(managed));
}

TEST(Memory, ManagedVariableIsSeenByBothSides) {
  shared_counter = 40;
  count_up<<<1, 2>>>();
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(42, shared_counter);
}

TEST(Copy, DirectionsAreCheckedAndDefaultIsFoundOut) {
  DeviceBuffer<int> a(16), b(16);
  std::vector<int> in(16), out(16);
  std::iota(in.begin(), in.end(), 1);
  ASSERT_CUDA(cudaMemcpy(a.get(), in.data(), 64, cudaMemcpyDefault));
  ASSERT_CUDA(cudaMemcpy(b.get(), a.get(), 64, cudaMemcpyDeviceToDevice));
  ASSERT_CUDA(cudaMemcpy(out.data(), b.get(), 64, cudaMemcpyDefault));
  EXPECT_EQ(in, out);
  EXPECT_EQ(cudaErrorInvalidMemcpyDirection,
            cudaMemcpy(a.get(), in.data(), 64, static_cast<cudaMemcpyKind>(9)));
  (void)cudaGetLastError();
}

TEST(Copy, PitchedRowsKeepTheirPlace) {
  void* pitched = nullptr;
  size_t pitch = 0;
  ASSERT_CUDA(cudaMallocPitch(&pitched, &pitch, 20, 3));
  EXPECT_GE(pitch, 20u);
  char in[3][24], out[3][32] = {};
  for (int i = 0; i < 72; ++i) in[i / 24][i % 24] = static_cast<char>(i);
  ASSERT_CUDA(cudaMemset2D(pitched, pitch, 0, 20, 3));
  ASSERT_CUDA(cudaMemcpy2D(pitched, pitch, in, 24, 20, 3, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpy2D(out, 32, pitched, pitch, 20, 3, cudaMemcpyDeviceToHost));
  EXPECT_EQ(0, std::memcmp(in[2], out[2], 20));
  EXPECT_EQ(0, out[2][20]);
  EXPECT_EQ(cudaErrorInvalidPitchValue,
            cudaMemcpy2D(out, 10, pitched, pitch, 20, 3, cudaMemcpyDeviceToHost));
  (void)cudaGetLastError();
  EXPECT_CUDA(cudaFree(pitched));
}

TEST(Copy, VolumesAndArrays) {
  const cudaExtent extent = make_cudaExtent(8, 4, 3);  // elements of an array
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  ASSERT_CUDA(cudaMalloc3DArray(&array, &desc, extent));
  std::vector<float> in(8 * 4 * 3), out(8 * 4 * 3);
  std::iota(in.begin(), in.end(), 0.5f);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), 32, 8, 4);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  ASSERT_CUDA(cudaMemcpy3D(&copy));
  cudaMemcpy3DParms back{};
  back.srcArray = array;
  back.dstPtr = make_cudaPitchedPtr(out.data(), 32, 8, 4);
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  ASSERT_CUDA(cudaMemcpy3D(&back));
  EXPECT_EQ(in, out);
  cudaChannelFormatDesc found;
  cudaExtent size;
  unsigned flags = 9;
  ASSERT_CUDA(cudaArrayGetInfo(&found, &size, &flags, array));
  EXPECT_EQ(32, found.x);
  EXPECT_EQ(cudaChannelFormatKindFloat, found.f);
  EXPECT_EQ(3u, size.depth);
  EXPECT_EQ(0u, flags);
  EXPECT_CUDA(cudaFreeArray(array));
}

TEST(Copy, LinearIntoAnArrayRunsOverItsRows) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  ASSERT_CUDA(cudaMallocArray(&array, &desc, 4, 4));
  std::vector<int> in(11), out(11, 0);
  std::iota(in.begin(), in.end(), 1);
  ASSERT_CUDA(cudaMemcpyToArray(array, 8, 0, in.data(), 44, cudaMemcpyHostToDevice));
  ASSERT_CUDA(cudaMemcpyFromArray(out.data(), array, 8, 0, 44, cudaMemcpyDeviceToHost));
  EXPECT_EQ(in, out);
  int row[4];
  ASSERT_CUDA(cudaMemcpy2DFromArray(row, 16, array, 0, 1, 16, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(3, row[0]) << "two elements fit the first row";
  EXPECT_CUDA(cudaFreeArray(array));
}

TEST(Symbols, AreReadWrittenAndBounded) {
  int values[4] = {1, 2, 3, 4};
  ASSERT_CUDA(cudaMemcpyToSymbol(table, values, 8, 8));
  int read[4];
  ASSERT_CUDA(cudaMemcpyFromSymbol(read, table, sizeof(read)));
  EXPECT_EQ(20, read[1]);
  EXPECT_EQ(1, read[2]);
  size_t bytes = 0;
  ASSERT_CUDA(cudaGetSymbolSize(&bytes, table));
  EXPECT_EQ(16u, bytes);
  void* address = nullptr;
  ASSERT_CUDA(cudaGetSymbolAddress(&address, table));
  ASSERT_CUDA(cudaMemcpy(read, address, 16, cudaMemcpyDeviceToHost));
  EXPECT_EQ(2, read[3]);
  EXPECT_EQ(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, 16, 4));
  EXPECT_EQ(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(values, values, 4));
  EXPECT_EQ(cudaErrorInvalidSymbol, cudaGetLastError());
  int original[4] = {10, 20, 30, 40};
  ASSERT_CUDA(cudaMemcpyToSymbol(table, original, 16));
}

TEST(Streams, DefaultStreamWaitsForBlockingStreamsOnly) {
  cudaStream_t blocking, apart;
  ASSERT_CUDA(cudaStreamCreate(&blocking));
  ASSERT_CUDA(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  unsigned flags = 0;
  ASSERT_CUDA(cudaStreamGetFlags(apart, &flags));
  EXPECT_EQ(cudaStreamNonBlocking, flags);
  DeviceBuffer<int> out(1);
  ASSERT_CUDA(cudaMemset(out.get(), 0, 4));
  add_one<<<1, 1, 0, blocking>>>(out.get(), 1);
  int host = -1;
  ASSERT_CUDA(cudaMemcpy(&host, out.get(), 4, cudaMemcpyDeviceToHost));  // the legacy stream
  EXPECT_EQ(1, host);
  EXPECT_EQ(cudaSuccess, cudaStreamQuery(blocking));
  EXPECT_CUDA(cudaStreamDestroy(blocking));
  EXPECT_CUDA(cudaStreamDestroy(apart));
}

TEST(Streams, CallbacksAndHostFunctionsComeInOrder) {
  std::string order;
  cudaStream_t stream;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  ASSERT_CUDA(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t status, void* data) {
        *static_cast<std::string*>(data) += status == cudaSuccess ? "a" : "?";
      },
      &order, 0));
  ASSERT_CUDA(cudaLaunchHostFunc(
      stream, [](void* data) { *static_cast<std::string*>(data) += "b"; }, &order));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ("ab", order);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST(Events, MeasureOrderAndRefuseWhatIsNotRecorded) {
  cudaEvent_t start, stop, untimed;
  ASSERT_CUDA(cudaEventCreate(&start));
  ASSERT_CUDA(cudaEventCreate(&stop));
  ASSERT_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  DeviceBuffer<int> out(1);
  float ms = -1;
  EXPECT_EQ(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
  (void)cudaGetLastError();
  ASSERT_CUDA(cudaEventRecord(start));
  busy<<<1, 1>>>(20000, out.get());
  ASSERT_CUDA(cudaEventRecord(stop));
  ASSERT_CUDA(cudaEventSynchronize(stop));
  EXPECT_CUDA(cudaEventQuery(stop));
  ASSERT_CUDA(cudaEventElapsedTime(&ms, start, stop));
  EXPECT_GT(ms, 0.0f);
  for (cudaEvent_t event : {start, stop, untimed}) EXPECT_CUDA(cudaEventDestroy(event));
}

TEST(Errors, AreKeptForEachThreadAndNamed) {
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(99));
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_STREQ("cudaErrorInvalidDevice", cudaGetErrorName(cudaErrorInvalidDevice));
  EXPECT_STREQ("invalid device ordinal", cudaGetErrorString(cudaErrorInvalidDevice));
  EXPECT_STREQ("unrecognized error code", cudaGetErrorString(static_cast<cudaError_t>(12345)));
  EXPECT_EQ(cudaErrorNotSupported, cudaGraphicsUnregisterResource(nullptr));
  EXPECT_EQ(cudaErrorNotSupported, cudaGetLastError());
}

TEST(Errors, NotReadyIsOneToo) {
  DeviceBuffer<int> out(1);
  cudaEvent_t event;
  ASSERT_CUDA(cudaEventCreate(&event));
  volatile bool go = false;
  ASSERT_CUDA(cudaLaunchHostFunc(
      nullptr,
      [](void* flag) {
        while (!*static_cast<volatile bool*>(flag)) std::this_thread::yield();
      },
      const_cast<bool*>(&go)));
  ASSERT_CUDA(cudaEventRecord(event));
  EXPECT_EQ(cudaErrorNotReady, cudaEventQuery(event));
  EXPECT_EQ(cudaErrorNotReady, cudaGetLastError());
  go = true;
  EXPECT_CUDA(cudaEventSynchronize(event));
  EXPECT_CUDA(cudaEventDestroy(event));
}

TEST(Devices, PropertiesAgreeWithAttributes) {
  cudaDeviceProp properties;
  ASSERT_CUDA(cudaGetDeviceProperties(&properties, 0));
  int value = 0;
  ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_EQ(32, properties.warpSize);
  EXPECT_EQ(1024, properties.maxThreadsPerBlock);
  size_t available = 0, total = 0;
  ASSERT_CUDA(cudaMemGetInfo(&available, &total));
  EXPECT_EQ(total, properties.totalGlobalMem);
  char bus[20];
  int device = -1;
  ASSERT_CUDA(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
  ASSERT_CUDA(cudaDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(0, device);
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 7));
  (void)cudaGetLastError();
}

TEST(Devices, ContextOfTheDriverIsUsedWhenCurrent) {
  ASSERT_CUDA(cudaFree(nullptr));
  CUcontext own, current;
  ASSERT_EQ(CUDA_SUCCESS, cuCtxCreate(&own, nullptr, 0, 0));
  void* memory = nullptr;
  ASSERT_CUDA(cudaMalloc(&memory, 64));
  ASSERT_EQ(CUDA_SUCCESS, cuCtxGetCurrent(&current));
  EXPECT_EQ(own, current);
  CUcontext of_memory;
  ASSERT_EQ(CUDA_SUCCESS, cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_CONTEXT,
                                                reinterpret_cast<CUdeviceptr>(memory)));
  EXPECT_EQ(own, of_memory);
  DeviceBuffer<int> out(4);
  fill<<<1, 4>>>(out.get(), 4, 0);  // the module is loaded there as well
  EXPECT_EQ(10, out.read()[0]);
  ASSERT_CUDA(cudaFree(memory));
  ASSERT_EQ(CUDA_SUCCESS, cuCtxPopCurrent(&current));
}

TEST(Functions, AttributesNamesAndOccupancy) {
  cudaFuncAttributes attributes;
  ASSERT_CUDA(cudaFuncGetAttributes(&attributes, fill));
  EXPECT_EQ(1024, attributes.maxThreadsPerBlock);
  EXPECT_GT(attributes.numRegs, 0);
  ASSERT_CUDA(
      cudaFuncSetAttribute(dynamic_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  ASSERT_CUDA(cudaFuncGetAttributes(&attributes, dynamic_shared));
  EXPECT_EQ(65536, attributes.maxDynamicSharedSizeBytes);
  const char* name = nullptr;
  ASSERT_CUDA(cudaFuncGetName(&name, reinterpret_cast<void*>(fill)));
  EXPECT_NE(nullptr, std::strstr(name, "fill"));
  int blocks = 0, grid = 0, block = 0;
  ASSERT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  EXPECT_EQ(8, blocks) << "2048 threads an SM";
  ASSERT_CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill));
  EXPECT_GT(grid * block, 0);
}

TEST(Textures, ReadArraysAndLinearMemoryAsDescribed) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<unsigned char>();
  cudaArray_t array;
  ASSERT_CUDA(cudaMallocArray(&array, &desc, 2, 2, cudaArraySurfaceLoadStore));
  const unsigned char texels[4] = {0, 255, 255, 0};
  ASSERT_CUDA(cudaMemcpy2DToArray(array, 0, 0, texels, 2, 2, 2, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc texture{};
  texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
  texture.filterMode = cudaFilterModeLinear;
  texture.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t object;
  ASSERT_CUDA(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
  cudaTextureDesc read{};
  cudaResourceDesc of{};
  ASSERT_CUDA(cudaGetTextureObjectTextureDesc(&read, object));
  ASSERT_CUDA(cudaGetTextureObjectResourceDesc(&of, object));
  EXPECT_EQ(cudaReadModeNormalizedFloat, read.readMode);
  EXPECT_EQ(array, of.res.array.array);
  cudaSurfaceObject_t surface;
  ASSERT_CUDA(cudaCreateSurfaceObject(&surface, &resource));
  DeviceBuffer<float> out(2);
  sample<<<1, 1>>>(object, surface, out.get());
  ASSERT_CUDA(cudaGetLastError());
  const auto host = out.read();
  EXPECT_FLOAT_EQ(0.5f, host[0]) << "between the four";
  EXPECT_FLOAT_EQ(1.0f, host[1]);
  unsigned char back[4];
  ASSERT_CUDA(cudaMemcpy2DFromArray(back, 2, array, 0, 0, 2, 2, cudaMemcpyDeviceToHost));
  EXPECT_EQ(99, back[3]) << "written through the surface";
  EXPECT_CUDA(cudaDestroyTextureObject(object));
  EXPECT_CUDA(cudaDestroySurfaceObject(surface));
  EXPECT_CUDA(cudaFreeArray(array));
}

TEST(Pools, StreamOrderedMemory) {
  cudaStream_t stream;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  int* memory = nullptr;
  ASSERT_CUDA(cudaMallocAsync(&memory, 400, stream));
  fill<<<4, 32, 0, stream>>>(memory, 100, 0);
  std::vector<int> host(100);
  ASSERT_CUDA(cudaMemcpyAsync(host.data(), memory, 400, cudaMemcpyDeviceToHost, stream));
  ASSERT_CUDA(cudaFreeAsync(memory, stream));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(99 * 3 + 40, host[99]);
  cudaMemPool_t pool;
  ASSERT_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  cuuint64_t threshold = 1 << 20, read = 0;
  ASSERT_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  ASSERT_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
  EXPECT_EQ(threshold, read);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST(Threads, UseTheRuntimeAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      DeviceBuffer<int> out(64);
      cudaStream_t stream;
      EXPECT_CUDA(cudaStreamCreate(&stream));
      EXPECT_CUDA(cudaMemsetAsync(out.get(), 0, 256, stream));
      for (int i = 0; i < 20; ++i) add_one<<<2, 32, 0, stream>>>(out.get(), 64);
      EXPECT_CUDA(cudaStreamSynchronize(stream));
      EXPECT_EQ(20, out.read()[63]);
      EXPECT_CUDA(cudaStreamDestroy(stream));
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Versions, AreThoseOfTheToolkit) {
  int runtime = 0, driver = 0;
  ASSERT_CUDA(cudaRuntimeGetVersion(&runtime));
  ASSERT_CUDA(cudaDriverGetVersion(&driver));
  EXPECT_EQ(CUDART_VERSION, runtime);
  EXPECT_GE(driver, runtime);
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  ASSERT_CUDA(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 13000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSuccess, found);
  EXPECT_NE(nullptr, entry);
  ASSERT_CUDA(
      cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 13000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, found);
}

}  // namespace
