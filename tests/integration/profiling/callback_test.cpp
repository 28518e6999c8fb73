// SPDX-License-Identifier: Apache-2.0
// Callbacks around driver calls, for resources and for synchronisation.
#include <dlfcn.h>

#include <string>

#include "tests/integration/profiling/cupti_recorder.h"
#include "tests/integration/simdriver/sim_fixture.h"
//
#include <cupti_driver_cbid.h>

namespace gacer::simcupti::test {
namespace {

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  std::string text;  // "enter cuMemAlloc_v2"
  std::string symbol;
  uint32_t correlation = 0;
  uint32_t context_uid = 0;
  uint64_t data = 0;
  int result = -1;
};

class CallbackTest : public simdriver::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    seen().clear();
    ASSERT_EQ(CUPTI_SUCCESS, cuptiSubscribe(&subscriber_, &on_callback, this));
  }
  void TearDown() override {
    if (subscriber_ != nullptr) {
      EXPECT_EQ(CUPTI_SUCCESS, cuptiUnsubscribe(subscriber_));
    }
    DeviceTest::TearDown();
  }
  void enable(CUpti_CallbackDomain domain) {
    ASSERT_EQ(CUPTI_SUCCESS, cuptiEnableDomain(1, subscriber_, domain));
  }
  static std::vector<Seen>& seen() {
    static std::vector<Seen> all;
    return all;
  }
  static std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (const Seen& one : seen()) all.push_back(one.text);
    return all;
  }
  static void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
    Seen one{domain, id, "", "", 0, 0, 0, -1};
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      const auto& call = *static_cast<const CUpti_CallbackData*>(data);
      const bool enter = call.callbackSite == CUPTI_API_ENTER;
      if (enter) *call.correlationData = 1000 + seen().size();
      one.text = (enter ? "enter " : "exit ") + std::string(call.functionName);
      one.symbol = call.symbolName == nullptr ? "" : call.symbolName;
      one.correlation = call.correlationId;
      one.context_uid = call.contextUid;
      one.data = *call.correlationData;
      if (!enter) one.result = *static_cast<const int*>(call.functionReturnValue);
    }
    seen().push_back(one);
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
};

TEST_F(CallbackTest, EveryCallIsReportedOnceAtEnterAndOnceAtExit) {
  CUdeviceptr data = 0;
  enable(CUPTI_CB_DOMAIN_DRIVER_API);
  CU_OK(cuMemAlloc(&data, 64));
  // Made of other driver functions inside the driver; they are not reported.
  CU_OK(cuMemcpyDtoD(data + 32, data, 32));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(12345));

  EXPECT_EQ((std::vector<std::string>{"enter cuMemAlloc_v2", "exit cuMemAlloc_v2",
                                      "enter cuMemcpyDtoD_v2", "exit cuMemcpyDtoD_v2",
                                      "enter cuMemFree_v2", "exit cuMemFree_v2"}),
            texts());
  for (size_t i = 0; i < seen().size(); i += 2) {
    EXPECT_EQ(seen()[i].correlation, seen()[i + 1].correlation);
    EXPECT_EQ(1000 + i, seen()[i + 1].data);  // what enter left for exit
  }
  EXPECT_NE(seen()[0].correlation, seen()[2].correlation);
  EXPECT_EQ(CUDA_SUCCESS, seen()[1].result);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, seen()[5].result);
  uint32_t uid = 0;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetContextId(context_, &uid));
  EXPECT_EQ(uid, seen()[0].context_uid);
}

TEST_F(CallbackTest, LaunchNamesItsKernelAlsoThroughALookedUpFunction) {
  const CUdeviceptr data = allocate_ints({0});
  void* address = nullptr;
  CUdriverProcAddressQueryResult status;
  CU_OK(cuGetProcAddress("cuLaunchKernel", &address, 13000, 0, &status));
  auto* launch = reinterpret_cast<decltype(&cuLaunchKernel)>(address);
  CUfunction kernel = function("add_one");
  ASSERT_EQ(CUPTI_SUCCESS, cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                               CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  CUdeviceptr pointer = data;
  unsigned count = 1;
  void* params[] = {&pointer, &count};
  CU_OK(launch(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  CU_OK(cuCtxSynchronize());  // not asked for

  ASSERT_EQ(2U, seen().size());
  EXPECT_EQ("enter cuLaunchKernel", seen()[0].text);
  EXPECT_EQ("add_one", seen()[0].symbol);
  EXPECT_EQ("add_one", seen()[1].symbol);
}

TEST_F(CallbackTest, ResourcesAndSynchronisationsAreAnnounced) {
  enable(CUPTI_CB_DOMAIN_RESOURCE);
  enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CU_OK(cuCtxCreate(&context, nullptr, 0, 0));
  CU_OK(cuModuleLoadData(&module, simdriver::kTestPtx));
  CU_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  CU_OK(cuStreamSynchronize(stream));
  CU_OK(cuStreamDestroy(stream));
  CU_OK(cuModuleUnload(module));
  CU_OK(cuCtxSynchronize());
  CU_OK(cuCtxDestroy(context));

  std::vector<std::pair<int, unsigned>> ids;
  for (const Seen& one : seen()) ids.emplace_back(one.domain, one.id);
  constexpr int kResource = CUPTI_CB_DOMAIN_RESOURCE, kSync = CUPTI_CB_DOMAIN_SYNCHRONIZE;
  EXPECT_EQ((std::vector<std::pair<int, unsigned>>{
                {kResource, CUPTI_CBID_RESOURCE_CONTEXT_CREATED},
                {kResource, CUPTI_CBID_RESOURCE_MODULE_LOADED},
                {kResource, CUPTI_CBID_RESOURCE_STREAM_CREATED},
                {kSync, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED},
                {kResource, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING},
                {kResource, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING},
                {kSync, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED},
                {kResource, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING}}),
            ids);
}

TEST_F(CallbackTest, ThereIsOneSubscriberAndItsStateCanBeAsked) {
  CUpti_SubscriberHandle second = nullptr;
  EXPECT_EQ(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
            cuptiSubscribe(&second, &on_callback, nullptr));
  EXPECT_EQ(CUPTI_ERROR_INVALID_PARAMETER,
            cuptiEnableDomain(1, second, CUPTI_CB_DOMAIN_DRIVER_API));
  EXPECT_EQ(CUPTI_ERROR_INVALID_PARAMETER,
            cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, 100'000));
  uint32_t state = 7;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetCallbackState(&state, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                                 CUPTI_DRIVER_TRACE_CBID_cuInit));
  EXPECT_EQ(0U, state);
  enable(CUPTI_CB_DOMAIN_DRIVER_API);
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetCallbackState(&state, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                                 CUPTI_DRIVER_TRACE_CBID_cuInit));
  EXPECT_EQ(1U, state);
}

TEST_F(CallbackTest, UnsubscribingEndsCallbacks) {
  enable(CUPTI_CB_DOMAIN_DRIVER_API);
  ASSERT_EQ(CUPTI_SUCCESS, cuptiUnsubscribe(subscriber_));
  subscriber_ = nullptr;
  CU_OK(cuCtxSynchronize());
  EXPECT_TRUE(seen().empty());
}

TEST_F(CallbackTest, NamesAreThoseOfTheHeaders) {
  const char* name = nullptr;
  ASSERT_EQ(CUPTI_SUCCESS, cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API,
                                                CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &name));
  EXPECT_STREQ("cuMemAlloc_v2", name);
  EXPECT_EQ(CUPTI_ERROR_INVALID_PARAMETER,
            cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 100'000, &name));
}

TEST_F(CallbackTest, WhatIsNotSupportedSaysSo) {
  auto* initialize =
      reinterpret_cast<int (*)(void*)>(dlsym(RTLD_DEFAULT, "cuptiProfilerInitialize"));
  ASSERT_NE(nullptr, initialize);
  EXPECT_EQ(CUPTI_ERROR_NOT_SUPPORTED, initialize(nullptr));
}

}  // namespace
}  // namespace gacer::simcupti::test
