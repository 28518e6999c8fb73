// SPDX-License-Identifier: Apache-2.0
// DeviceModel through the driver: load, forward, capture and replay.
#include "kernels/model/device_model.h"

#include <gtest/gtest.h>

#include "kernels/model/input_values.h"
#include "kernels/model/model_list.h"

namespace gacer::kernels {
namespace {

class DeviceModelTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(session_.open(0, StreamPriority::kHigh)) << session_.status().message();
  }

  std::vector<float> run(DeviceModel& model) {
    std::vector<float> input(model.input_bytes() / sizeof(float));
    std::vector<float> output(model.output_bytes() / sizeof(float));
    fill_input(model.input_layer(), 5, input.data());
    CudaStatus& status = session_.status();
    status.check(
        cuMemcpyHtoDAsync(model.input(), input.data(), model.input_bytes(), session_.stream()),
        "cuMemcpyHtoDAsync");
    model.enqueue_forward();
    status.check(
        cuMemcpyDtoHAsync(output.data(), model.output(), model.output_bytes(), session_.stream()),
        "cuMemcpyDtoHAsync");
    status.check(cuStreamSynchronize(session_.stream()), "cuStreamSynchronize");
    return output;
  }

  CudaSession session_;
};

TEST_F(DeviceModelTest, AGraphGivesTheSameBitsAsLaunches) {
  for (const char* name : {"resnet18", "bert-base", "lstm"}) {
    // Given a forward pass by launches
    DeviceModel model(find_model(name)->build(tiny_options(1)), session_);
    ASSERT_TRUE(model.load(3)) << session_.status().message();
    const std::vector<float> launched = run(model);
    // When it is captured and replayed twice
    ASSERT_TRUE(model.capture()) << session_.status().message();
    const std::vector<float> once = run(model), twice = run(model);
    // Then nothing differs
    EXPECT_EQ(session_.status().message(), "");
    EXPECT_EQ(launched, once) << name;
    EXPECT_EQ(launched, twice) << name;
  }
}

TEST_F(DeviceModelTest, SeedsDecideTheOutput) {
  DeviceModel one(find_model("lstm")->build(tiny_options(1)), session_);
  DeviceModel other(find_model("lstm")->build(tiny_options(1)), session_);
  ASSERT_TRUE(one.load(1) && other.load(2)) << session_.status().message();
  EXPECT_NE(run(one), run(other));
}

TEST_F(DeviceModelTest, TooLargeAModelNamesTheAllocation) {
  // Given a batch that no device holds
  DeviceModel model(find_model("vgg16")->build({.batch = 100000}), session_);
  EXPECT_FALSE(model.load(1));
  const std::string message = session_.status().message();
  EXPECT_TRUE(message.starts_with("cuMemAlloc(activations, ")) << message;
  EXPECT_NE(message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << message;
}

TEST_F(DeviceModelTest, NoSuchDeviceNamesTheCall) {
  CudaSession other;
  EXPECT_FALSE(other.open(4711, StreamPriority::kDefault));
  EXPECT_TRUE(other.status().message().starts_with("cuDeviceGet(4711): CUDA_ERROR_INVALID_DEVICE"))
      << other.status().message();
}

}  // namespace
}  // namespace gacer::kernels
