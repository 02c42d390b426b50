// Link tests: pairs of bytes and seconds, nccl-tests and iperf3.
#include <algorithm>
#include <string>

#include "analysis/calibrate/link_fit.hpp"
#include "tests/analysis/calibrate/reading.hpp"
#include "tests/support/catch.hpp"

using namespace psim::calibrate;
using psim::test::contains;
using psim::test::Read;
using psim::test::reading;

TEST_CASE("pairs of bytes and seconds, nccl-tests and iperf3 are link tests", "[calibrate]") {
  const Read pairs = reading("bytes,seconds\n1000,0.1\n2000,0.2\n");
  REQUIRE(pairs.log.transfers.size() == 2);
  CHECK(pairs.log.transfers[1].bytes == 2000);
  CHECK(pairs.log.transfers[1].seconds == 0.2);
  CHECK(contains(reading("bytes,seconds\n1000,0\n").error, ":2: 1000 bytes in 0 s"));
  const Read nccl = reading(
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)\n"
      "     1048576        262144     float    none      -1    95.20   11.01   11.01      0    94.87\n"
      "     2097152        524288     float    none      -1   160.00   13.11   13.11      0   159.12\n"
      "# Avg bus bandwidth    : 12.06\n");
  CHECK(nccl.error.empty());
  REQUIRE(nccl.log.transfers.size() == 2);
  CHECK(nccl.log.transfers[0].bytes == 1048576);
  CHECK(nccl.log.transfers[0].seconds == Approx(95.2e-6));
}

TEST_CASE("busbw of nccl-tests is the bandwidth of a link", "[calibrate]") {
  // An all-reduce of eight processes: busbw is 1.75 times algbw. The smallest size rounds both to 0.
  const Read reduce = reading(
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)\n"
      "           8             2     float     sum      -1    20.00    0.00    0.00      0    20.00\n"
      "     1048576        262144     float     sum      -1   104.86   10.00   17.50      0   104.87\n");
  CHECK(reduce.error.empty());
  REQUIRE(reduce.log.transfers.size() == 2);
  CHECK(reduce.log.transfers[1].bytes == Approx(1048576 * 1.75));
  CHECK(reduce.log.transfers[0].bytes == Approx(8 * 1.75));
  CHECK(reduce.log.transfers[1].kind == Transfer::Kind::collective);
  REQUIRE(reduce.log.notes.size() == 1);
  CHECK(contains(reduce.log.notes[0], "busbw, which is 1.75 times algbw"));
  // Older versions have no column for the root.
  const Read older = reading(
      "# nThread 1 nGpus 4\n"
      "#       size         count    type   redop     time   algbw   busbw  error\n"
      "     1048576        262144   float     sum   104.86   10.00   15.00  1e-07\n");
  REQUIRE(older.log.transfers.size() == 1);
  CHECK(older.log.transfers[0].bytes == Approx(1048576 * 1.5));
  CHECK(older.log.transfers[0].seconds == Approx(104.86e-6));
  // Two tables in one file have a factor each.
  const std::string header =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
  const Read both = reading(
      header + "     1048576        262144     float     sum      -1   104.86   10.00   17.50      0\n" +
      header + "     1048576        262144     float    none      -1   104.86   11.00   11.00      0\n");
  REQUIRE(both.log.transfers.size() == 2);
  CHECK(both.log.transfers[0].bytes == Approx(1048576 * 1.75));
  CHECK(both.log.transfers[0].kind == Transfer::Kind::collective);
  CHECK(both.log.transfers[1].bytes == 1048576);
  CHECK(both.log.transfers[1].kind == Transfer::Kind::message);
  const Read tiny = reading(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "           8             2     float     sum      -1    20.00    0.00    0.00      0\n");
  CHECK(contains(tiny.error, "every busbw of nccl-tests is 0"));
}

TEST_CASE("iperf3 gives spans, and omitted ones do not count", "[calibrate]") {
  const auto iperf = [](const std::string& streams, const std::string& intervals) {
    return reading(R"({"start": {"connected": [)" + streams + R"(]}, "intervals": [)" + intervals +
                   R"(], "end": {}})");
  };
  const auto interval = [](const char* bytes, const char* omitted) {
    return std::string(R"({"streams": [], "sum": {"start": 0, "seconds": 1.0, "bytes": )") + bytes +
           R"(, "omitted": )" + omitted + "}}";
  };
  const Read read = iperf("", interval("9000000", "true") + "," + interval("117000000", "false") + "," +
                                  interval("118000000", "false"));
  CHECK(read.error.empty());
  REQUIRE(read.log.transfers.size() == 2);
  CHECK(read.log.transfers[1].bytes == 118e6);
  CHECK(read.log.transfers[1].kind == Transfer::Kind::span);
  std::string streams;
  for (int i = 0; i < 64; ++i)
    streams += std::string(i > 0 ? "," : "") +
               R"({"socket": 5, "local_host": "10.0.0.1", "local_port": 40000, "remote_host": "10.0.0.2"})";
  const Read many = iperf(streams, interval("117000000", "false"));
  CHECK(many.error.empty());
  CHECK(many.log.transfers.size() == 1);
  CHECK(contains(iperf("", interval("0", "false")).error, "iperf3 has measured no interval"));
  CHECK(contains(reading(R"({"start": {"connected": []}, "intervals": [)").error, "breaks off"));
}

namespace {

// A table of nccl-tests. `rows`: of a size, a count and a type, and what follows.
std::string table(const std::string& rows, const char* middle = "redop    root") {
  return std::string("#       size         count      type   ") + middle +
         "     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" + rows;
}

// As --json writes a test of two intervals. `end`: its sums.
std::string document(const std::string& test_start, const std::string& interval, const std::string& end) {
  return R"({"start": {"connected": [], "test_start": )" + test_start + R"(}, "intervals": [)" + interval +
         ", " + interval + R"(], "end": )" + end + "}\n";
}

const char* const tcp_interval =
    R"({"sum": {"seconds": 1.0, "bytes": 50000000, "omitted": false, "sender": true}})";

}  // namespace

TEST_CASE("rows of sendrecv_perf tell the latency, whatever operation they name", "[unit][calibrate]") {
  const auto rows = [](const std::string& in_place) {
    return table(
        "        1024     256     float     sum      -1    21.00    0.05    0.05      0    21.0    0.05    "
        "0.05    " +
        in_place +
        "\n     1048576  262144     float     sum      -1    120.0    8.74    8.74      0   120.0    8.74    "
        "8.74    " +
        in_place +
        "\n    67108864  16777216   float     sum      -1   6731.0    9.97    9.97      0  6731.0    9.97    "
        "9.97    " +
        in_place + "\n");
  };
  const auto latency = [](const Read& read) {
    INFO(read.error);
    const LinkFit fit = *fit_link(read.log.transfers);
    return fit.knows_latency ? fit.latency : 0;
  };
  CHECK(latency(reading(rows("N/A"))) == Approx(2.08e-5).epsilon(0.01));
  CHECK(latency(reading(rows("0"))) == 0);  // an all-reduce of two ranks
  CHECK(latency(reading(rows("0"), {}, "sendrecv.txt")) == Approx(2.08e-5).epsilon(0.01));
  CHECK(latency(reading("# Collective test starting: sendrecv_perf\n" + rows("0"))) ==
        Approx(2.08e-5).epsilon(0.01));
  CHECK(latency(reading("# Collective test starting: all_reduce_perf\n" + rows("N/A"))) == 0);
  // A launcher's words before each line, and other programs' lines.
  std::string tagged = "NCCL INFO Channel 00 : 0 1\n" + rows("N/A");
  for (std::size_t at = 0; at < tagged.size(); at = tagged.find('\n', at) + 1)
    tagged.insert(at, "[1,0]<stdout>: ");
  CHECK(latency(reading(tagged)) == Approx(2.08e-5).epsilon(0.01));
}

TEST_CASE("an empty operation moves no column", "[unit][calibrate]") {
  const std::string rows =
      "    67108864  16777216  float            -1   130211   0.52   0.51     0\n"
      "   268435456  67108864  float            -1   520840   0.52   0.51     2\n";
  const Read read = reading(table(rows));
  INFO(read.error);
  REQUIRE(read.log.transfers.size() == 2);
  CHECK(fit_link(read.log.transfers)->bandwidth == Approx(5.05e8).epsilon(0.01));
  CHECK(read.log.transfers[0].kind == Transfer::Kind::collective);
  CHECK(contains(read.log.notes[1], "wrong results: 1"));
  const Read rootless = reading(table("  268435456  67108864  float   520840   0.52   0.51   0\n", ""));
  REQUIRE(rootless.log.transfers.size() == 1);
  CHECK(rootless.log.transfers[0].seconds == Approx(0.52084));
}

TEST_CASE("a test of nccl-tests that says nothing about a link says why", "[unit][calibrate]") {
  const std::string alone =
      table("  1048576  262144  float  sum  -1  120.0  8.74  0.00  0  120.0  8.74  0.00  0\n");
  CHECK(contains(reading(alone).error, "ran on one rank"));
  const std::string own = "# Using devices\n#  Rank  0 Group  0 Pid 7 on host device  0 [0x31] GPU\n";
  CHECK(contains(
      reading(own + table("  1048576  262144  float  sum  -1  120.0  8.74  8.74  0  1.0  8.74  8.74  N/A\n"))
          .error,
      "ran on one rank"));
  const Read both = reading(alone + table("  1048576  262144  float  none  -1  120.0  8.74  8.74  0\n"));
  CHECK(both.log.transfers.size() == 1);
  CHECK(std::ranges::any_of(both.log.notes,
                            [](const std::string& note) { return contains(note, "does not count"); }));
  std::string cpu = alone;
  cpu.replace(cpu.find("time"), 4, "cputime");
  cpu.replace(cpu.find("0.00"), 4, "8.74");
  CHECK(contains(reading(cpu).error, "the processor's time"));
}

TEST_CASE("of UDP counts what arrived, and a target bitrate is no bandwidth", "[unit][calibrate]") {
  const auto udp = [](const char* target, const char* lost, const char* received) {
    return document(std::string(R"({"protocol": "UDP", "num_streams": 1, "target_bitrate": )") + target + "}",
                    R"({"sum": {"seconds": 1.0, "bytes": 23360000, "packets": 99, "sender": true}})",
                    std::string(R"({"sum": {"seconds": 2.0, "bytes": 46720000, "lost_percent": )") + lost +
                        "}" + received + "}");
  };
  const auto rate = [](const Read& read) {
    INFO(read.error);
    return read.log.transfers.empty() ? 0 : fit_link(read.log.transfers)->bandwidth;
  };
  const char* arrived = R"(, "sum_received": {"seconds": 2.0, "bytes": 29340000})";
  CHECK(rate(reading(udp("300000000", "37.2", arrived))) == Approx(14.67e6));
  CHECK(rate(reading(udp("300000000", "37.2", ""))) == Approx(14.67e6).epsilon(1e-3));
  CHECK(rate(reading(udp("0", "37.2", ""))) == Approx(14.67e6).epsilon(1e-3));
  CHECK(contains(reading(udp("186880000", "0", "")).error, "target bitrate of 1.869e+08 bit/s (-b)"));
  const auto tcp = [](const char* target) {
    return document(std::string(R"({"protocol": "TCP", "num_streams": 4, "target_bitrate": )") + target + "}",
                    tcp_interval, "{}");
  };
  CHECK(contains(reading(tcp("100000000")).error, "and the link carried it"));
  CHECK(rate(reading(tcp("0"))) == Approx(50e6));
  CHECK(rate(reading(tcp("1000000000"))) == Approx(50e6));
}

TEST_CASE("iperf3 writes several documents, errors, and streams of events", "[unit][calibrate]") {
  const std::string error =
      R"({"start": {"connected": []}, "intervals": [], "end": {}, "error": "Connection refused"})";
  CHECK(contains(reading(error).error, "iperf3 says: Connection refused"));
  const std::string whole = document(R"({"protocol": "TCP", "num_streams": 1})", tcp_interval, "{}");
  const Read both = reading(whole + error + "\n" + whole + whole.substr(0, 60));
  CHECK(both.log.transfers.size() == 4);
  CHECK(std::ranges::count_if(both.log.notes, [](const std::string& note) {
          return contains(note, "Connection refused") || contains(note, "breaks off");
        }) == 2);
  CHECK(reading("[" + whole + ", " + whole + "]").log.transfers.size() == 4);
  const std::string stream =
      std::string(R"({"event": "start", "data": {"connected": [], "cookie": "c"}})") + "\n" +
      R"({"event": "interval", "data": )" + tcp_interval + "}\n" +
      R"({"event": "end", "data": {"sum_sent": {"seconds": 1.0, "bytes": 50000000}}})" + "\n";
  CHECK(reading(stream).log.transfers.size() == 1);
  // --json-stream-full-output
  CHECK(
      reading(stream + R"({"start": {"connected": [], "cookie": "c"}, "intervals": [)" + tcp_interval + "]}")
          .log.transfers.size() == 1);
  CHECK(contains(
      reading(R"({"event": "start", "data": {"connected": []}} {"event": "error", "data": "no route"})")
          .error,
      "iperf3 says: no route"));
  // Both directions of --bidir.
  const std::string two =
      R"({"sum": {"seconds": 1.0, "bytes": 40000000}, "sum_bidir_reverse": {"seconds": 1.0, "bytes": 60000000}})";
  CHECK(fit_link(reading(document("{}", two, "{}")).log.transfers)->bandwidth == Approx(50e6));
}

TEST_CASE("iperf3's text tells what arrived, in any unit", "[unit][calibrate]") {
  const std::string head =
      "Connecting to host 10.0.0.1, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr\n";
  const auto rate = [](const Read& read) {
    INFO(read.error);
    return read.log.transfers.empty() ? 0 : fit_link(read.log.transfers)->bandwidth;
  };
  const Read tcp = reading(
      head +
      "[  5]   0.00-1.00   sec   615 MBytes  5.16 Gbits/sec   61   3.00 MBytes       (omitted)\n"
      "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0             sender\n"
      "[  5]   0.00-10.04  sec  1.10 GBytes   938 Mbits/sec                  receiver\n\niperf Done.\n");
  CHECK(rate(tcp) == Approx(1.1 * 1073741824 / 10.04));
  CHECK(contains(tcp.log.notes[0], "does not tell whether TCP had a target bitrate"));
  const std::string parallel =
      "[  5]   0.00-2.00   sec   100 MBytes  0.42 Gbits/sec   11             sender\n"
      "[  5]   0.00-2.00   sec   100 MBytes  50.0 MBytes/sec                  receiver\n"
      "[  7]   0.00-2.00   sec  50.0 MBytes  25.0 MBytes/sec                  receiver\n"
      "[SUM]   0.00-2.00   sec   150 MBytes  75.0 MBytes/sec                  receiver\n";
  CHECK(rate(reading(head + parallel)) == Approx(75 * 1048576));
  CHECK(rate(reading("Sun Nov 29 13:09:00 2026 " + parallel)) == Approx(75 * 1048576));
  const std::string both =
      "[  5][TX-C]   0.00-2.00   sec  2.00 MBytes  13.2 Mbits/sec    1             sender\n"
      "[  5][TX-C]   0.00-2.00   sec  2.00 MBytes  13.2 Mbits/sec                  receiver\n"
      "[  7][RX-C]   0.00-2.00   sec  1024 KBytes  10.7 Mbits/sec                  receiver\n";
  CHECK(rate(reading(head + both)) == Approx(0.75 * 1048576));
  const auto udp = [&](const char* lost) {
    return reading(
        "Connecting to host h\n[ ID] Interval  Transfer  Bitrate  Total Datagrams\n"
        "[  5]   0.00-2.00   sec  47.7 MBytes   200 Mbits/sec  0.000 ms  0/1526 (0%)  sender\n"
        "[  5]   0.00-2.00   sec  30.0 MBytes   126 Mbits/sec  0.114 ms  " +
        std::string(lost) + "/1526 (37%)  receiver\n\nServer output:\nAccepted connection from h\n" +
        "[  5]   0.00-2.00   sec  30.0 MBytes   126 Mbits/sec  0.114 ms  565/1526 (37%)  receiver\niperf "
        "Done.\n");
  };
  CHECK(udp("565").log.transfers.size() == 1);
  CHECK(rate(udp("565")) == Approx(15 * 1048576));
  CHECK(contains(udp("3").error, "target bitrate (-b)"));
  CHECK(contains(reading("iperf3: error - unable to connect to server: Connection refused\n").error,
                 "iperf3 says: error - unable to connect"));
}
