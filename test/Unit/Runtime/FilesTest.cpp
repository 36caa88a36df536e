//===- FilesTest.cpp - tensor files, whole and damaged --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Json.h"
#include "io/Inflate.h"
#include "io/TensorFile.h"
#include "io/Writer.h"

#include <algorithm>
#include <clocale>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace tsp::runtime;

static std::string tempPath(const std::string &name) {
  return testing::TempDir() + "tsp-" + std::to_string(getpid()) + "-" + name;
}

static std::string readText(const std::string &path) {
  InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(&text[0], text.size(), 0);
  return text;
}

template <typename T>
static std::vector<T> values(const std::string &path, const char *name) {
  auto file = TensorFile::open(path);
  std::vector<char> bytes = file->readWhole(*file->find(name));
  std::vector<T> result(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<char *>(result.data()));
  return result;
}

template <typename T>
static OutputTensor tensor(const char *name, int dtype,
                           std::vector<int64_t> shape, std::vector<T> data) {
  OutputTensor out;
  out.name = name;
  out.dtype = dtype;
  out.shape = shape;
  out.produce = [data](const OutputTensor::Sink &sink) {
    sink(reinterpret_cast<const char *>(data.data()),
         int64_t(data.size() * sizeof(T)));
  };
  return out;
}

static std::vector<OutputTensor> samples() {
  return {
      tensor<float>("layers[0]['w\"q']", TSP_F32, {2, 3}, {1, 2, 3, 4, 5, 6}),
      tensor<uint16_t>("b", TSP_BF16, {2}, {0x3f80, 0x4000}),
      tensor<int64_t>("scalar", TSP_I64, {}, {-7}),
      tensor<uint8_t>("empty", TSP_UI8, {0, 4}, {})};
}

/// What opening and reading a file says; "" when it works.
static std::string errorOf(const std::string &path) {
  try {
    auto file = TensorFile::open(path);
    for (const FileTensor &tensor : file->tensors())
      file->readWhole(tensor);
    return "";
  } catch (const Error &error) {
    return error.what();
  }
}

/// The text of the error for a file with this content.
static std::string errorOfContent(const std::string &ending,
                                  const std::string &content) {
  std::string path = tempPath("content" + ending);
  writeText(path, content);
  std::string error = errorOf(path);
  unlink(path.c_str());
  return error;
}

static bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Files, WrittenAndReadAgain) {
  for (const char *ending : {".npz", ".safetensors"}) {
    std::string path = tempPath("again" + std::string(ending));
    writeTensors(path, samples());
    auto file = TensorFile::open(path);
    ASSERT_EQ(file->tensors().size(), 4u);
    const FileTensor *b = file->find("b");
    EXPECT_EQ(b->shape, std::vector<int64_t>{2});
    EXPECT_TRUE(b->isReadableAs(TSP_BF16));
    EXPECT_FALSE(b->isReadableAs(TSP_F16));
    EXPECT_EQ(values<float>(path, "layers[0]['w\"q']"),
              (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(values<int64_t>(path, "scalar"), std::vector<int64_t>{-7});
    EXPECT_TRUE(values<uint8_t>(path, "empty").empty());
    unlink(path.c_str());
  }
}

TEST(Files, NpyHasTheNameOfTheFile) {
  std::string path = tempPath("ids.npy");
  writeTensors(path, {tensor<int32_t>("x", TSP_I32, {3}, {1, 2, 3})});
  auto file = TensorFile::open(path);
  EXPECT_EQ(path.substr(path.rfind('/') + 1), file->tensors()[0].name + ".npy");
  EXPECT_EQ(file->tensors()[0].type(), "3xint32");
  unlink(path.c_str());
}

/// numpy.savez_compressed of a f32 [3,4], b i32 [20,30] (i % 7), f i64 [2,3] in
/// Fortran order, s f64 2.5.
static const char *const compressedNpz =
    "504b03042d0000000800000021002d6f2226ffffffffffffffff05001400612e6e707901"
    "001000b00000000000000066000000000000009bec17ea1b10c9c850c650ad9e925a9c5c"
    "a46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416"
    "a402f91ac63a0a269a3a0ab50a64032e063068b007120e4004c40d40bc00880f00f10320"
    "66706460100062052036700400504b03042d000000080000002100831912bcffffffffff"
    "ffffff05001400622e6e707901001000e0090000000000006f000000000000009bec17ea"
    "1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a2aea3a09e965f54529498179f5f9492"
    "0a12774bcc294e058a17672416a402f91a46063a0ac6069a3a0ab50a64022e0620600462"
    "2620660662162066056236060818951b951b951b951b951b951b951b951b95234d0e0050"
    "4b03042d000000080000002100f73b7814ffffffffffffffff05001400662e6e70790100"
    "1000b00000000000000055000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca4"
    "6ea5a06e9369a1aea3a09e965f54529498179f5f94920a120f292a4d050a17672416a402"
    "b91a463a0ac69a3a0ab50ae4032e06286086d28c509a054a33416956280d00504b03042d"
    "00000008000000210035b43a93ffffffffffffffff05001400732e6e7079010010008800"
    "00000000000047000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e"
    "9366a1aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a9a"
    "3a0ab50a14012e063060710000504b01022d032d0000000800000021002d6f2226660000"
    "00b0000000050000000000000000000000800100000000612e6e7079504b01022d032d00"
    "0000080000002100831912bc6f000000e009000005000000000000000000000080019d00"
    "0000622e6e7079504b01022d032d000000080000002100f73b781455000000b000000005"
    "0000000000000000000000800143010000662e6e7079504b01022d032d00000008000000"
    "210035b43a9347000000880000000500000000000000000000008001cf010000732e6e70"
    "79504b05060000000004000400cc0000004d0200000000";

static std::string fromHex(const std::string &hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

TEST(Files, CompressedAndColumnMajorNpz) {
  std::string path = tempPath("compressed.npz");
  writeText(path, fromHex(compressedNpz));
  std::vector<float> a(12);
  for (int i = 0; i < 12; ++i)
    a[i] = float(i);
  EXPECT_EQ(values<float>(path, "a"), a);
  std::vector<int32_t> b = values<int32_t>(path, "b");
  ASSERT_EQ(b.size(), 600u);
  for (int i = 0; i < 600; ++i)
    EXPECT_EQ(b[i], i % 7);
  EXPECT_EQ(values<int64_t>(path, "f"),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values<double>(path, "s"), std::vector<double>{2.5});
  unlink(path.c_str());
}

TEST(Files, Errors) {
  EXPECT_TRUE(
      contains(errorOf("/no/such/x.npz"), "cannot open /no/such/x.npz"));
  EXPECT_TRUE(contains(errorOf("/tmp"), "it is not a file"));
  EXPECT_TRUE(contains(errorOf("/etc/hostname"), "unknown kind of file"));
  EXPECT_TRUE(contains(errorOfContent(".safetensors", "abc"), "too short"));
  EXPECT_TRUE(
      contains(errorOfContent(".safetensors", std::string(8, '\xff') + "{}"),
               "malformed header"));
  std::string nan("\x0a\0\0\0\0\0\0\0{\"a\": NaN}", 18);
  EXPECT_TRUE(
      contains(errorOfContent(".safetensors", nan), "malformed header"));
  EXPECT_TRUE(contains(errorOfContent(".npz", "PK"), "no zip directory"));
  EXPECT_TRUE(contains(errorOfContent(".npy", "NUMPY"), "not an .npy file"));

  std::string path = tempPath("cut.safetensors");
  writeTensors(path, samples());
  std::string text = readText(path);
  writeText(path, text.substr(0, text.size() - 9));
  std::string error = errorOf(path);
  EXPECT_TRUE(contains(error, path)) << error;
  EXPECT_TRUE(contains(error, "the file is truncated")) << error;
  unlink(path.c_str());
}

TEST(Files, Unwritable) {
  EXPECT_THROW(checkWritable("/no/such/folder/x.npz"), Error);
  EXPECT_THROW(checkTensorsWritable("/tmp/x.txt"), Error);
  std::string path = tempPath("unwritten.txt");
  checkWritable(path);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_THROW(writeText("/dev/full", std::string(100000, 'x')), Error);
}

/// Reading damaged files ends in an Error or in values, never in a crash.
static void fuzz(const std::string &ending, const std::string &good,
                 unsigned seed) {
  std::mt19937 random(seed);
  int refused = 0;
  const int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    std::string bad = good;
    for (unsigned n = random() % 4 + 1; n > 0 && !bad.empty(); --n) {
      size_t at = random() % bad.size();
      // Headers and directories matter most.
      if (random() % 2)
        at = random() % 2 ? at % 300 % bad.size()
                          : bad.size() - 1 - at % 300 % bad.size();
      switch (random() % 5) {
      case 0:
        bad[at] = char(random());
        break;
      case 1:
        bad[at] ^= char(1 << random() % 8);
        break;
      case 2:
        bad.resize(at);
        break;
      case 3:
        bad.insert(at, std::string(random() % 9, char(random())));
        break;
      case 4:
        bad.erase(at, random() % 9);
        break;
      }
    }
    refused += !errorOfContent(ending, bad).empty();
  }
  EXPECT_GT(refused, rounds / 4);
}

TEST(Fuzz, Safetensors) {
  std::string path = tempPath("fuzz.safetensors");
  writeTensors(path, samples());
  fuzz(".safetensors", readText(path), 1);
  unlink(path.c_str());
}

TEST(Fuzz, Npz) {
  std::string path = tempPath("fuzz.npz");
  writeTensors(path, samples());
  fuzz(".npz", readText(path), 2);
  fuzz(".npz", fromHex(compressedNpz), 3);
  unlink(path.c_str());
}

TEST(Fuzz, Npy) {
  std::string path = tempPath("fuzz.npy");
  writeTensors(path, {tensor<int32_t>("x", TSP_I32, {3}, {1, 2, 3})});
  fuzz(".npy", readText(path), 4);
  unlink(path.c_str());
}

TEST(Inflate, MalformedDataIsAnError) {
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    std::vector<char> data(random() % 200);
    for (char &c : data)
      c = char(random());
    try {
      EXPECT_LE(inflate(data, 100000).size(), 100000u + 65536u);
    } catch (const Error &) {
    }
  }
}

TEST(JsonReader, ValuesAndMistakes) {
  Json json = Json::parse("{\"a\": [1, -9223372036854775808, 2.5e3], "
                          "\"\\u00e4\\n\": \"\\ud83d\\ude00\","
                          " \"t\": true, \"n\": null}");
  EXPECT_EQ(json.find("a")->items[1].asInt("x"), INT64_MIN);
  EXPECT_EQ(json.find("a")->items[2].asDouble("x"), 2500);
  EXPECT_EQ(json.find("\xc3\xa4\n")->text, "\xf0\x9f\x98\x80");
  EXPECT_TRUE(json.find("t")->truth);
  for (const char *bad : {"", "{", "[1,]", "{\"a\":}", "nul", "\"\\x\"", "1 2",
                          "{\"a\" 1}", "--1", "\"\x01\""})
    EXPECT_THROW(Json::parse(bad), Error) << bad;
  EXPECT_THROW(Json::parse(std::string(100000, '[')), Error);
  EXPECT_THROW(Json::parse("1.5").asInt("x"), Error);
  EXPECT_EQ(Json::parse(jsonString("a\"\\\n\x01")).text, "a\"\\\n\x01");
}

/// The process that a model runs in may write numbers with a comma.
TEST(JsonReader, EveryLocaleHasAPoint) {
  const char *names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
  std::string before = setlocale(LC_NUMERIC, nullptr);
  bool found = std::any_of(std::begin(names), std::end(names), [](auto *name) {
    return setlocale(LC_NUMERIC, name) != nullptr;
  });
  if (!found)
    GTEST_SKIP() << "no locale with a comma is installed";
  std::string written = format("%.2f", 0.25);
  double read = Json::parse("0.25").asDouble("x");
  setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(written, "0.25");
  EXPECT_EQ(read, 0.25);
}

TEST(SmallFloats, AllValuesSurviveARoundTrip) {
  for (int bits = 0; bits < 65536; ++bits) {
    float half = halfToFloat(uint16_t(bits));
    float bfloat = bfloatToFloat(uint16_t(bits));
    if (half == half)
      EXPECT_EQ(floatToHalf(half), bits);
    if (bfloat == bfloat)
      EXPECT_EQ(floatToBfloat(bfloat), bits);
  }
  for (int bits = 0; bits < 256; ++bits) {
    float a = f8E4M3ToFloat(uint8_t(bits)), b = f8E5M2ToFloat(uint8_t(bits));
    if (a == a)
      EXPECT_EQ(floatToF8E4M3(a), bits);
    if (b == b)
      EXPECT_EQ(floatToF8E5M2(b), bits);
  }
}

TEST(SmallFloats, RoundingToNearestEven) {
  EXPECT_EQ(floatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(floatToHalf(2049.0f), floatToHalf(2048.0f));
  EXPECT_EQ(floatToHalf(2051.0f), floatToHalf(2052.0f));
  EXPECT_EQ(floatToHalf(2.98e-8f), 0); // half the least subnormal
  EXPECT_EQ(floatToHalf(2.99e-8f), 1);
  EXPECT_EQ(floatToF8E4M3(448.0f), 0x7e);
  EXPECT_EQ(floatToF8E4M3(464.0f), 0x7e); // a tie, to even
  EXPECT_EQ(floatToF8E4M3(465.0f), 0x7f); // too large: NaN
  EXPECT_EQ(floatToF8E5M2(1e9f), 0x7c);
  EXPECT_EQ(floatToBfloat(1.00390625f), 0x3f80); // a tie, to even
}
