// SPDX-License-Identifier: Apache-2.0
// Decompression of fat-binary entries. Input is untrusted: nothing is read or written out of
// bounds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gacer::simdriver {

// Raw LZ4 block / Zstandard frame with exactly `expected_bytes` of content; false when it is not
// that.
bool decompress_lz4(std::span<const uint8_t> input, size_t expected_bytes, std::string& out);
bool decompress_zstd(std::span<const uint8_t> input, size_t expected_bytes, std::string& out);

}  // namespace gacer::simdriver
