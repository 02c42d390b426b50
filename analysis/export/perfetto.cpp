// Numbers of fields: google/perfetto, protos/perfetto/trace/track_event/*.proto and trace_packet.proto.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/export/exports.hpp"
#include "analysis/export/protobuf.hpp"

namespace psim::analysis {
namespace {

namespace trace {
constexpr std::uint32_t packet = 1;
}
namespace packet {
constexpr std::uint32_t timestamp = 8, sequence = 10, event = 11, descriptor = 60;
}
namespace descriptor {
constexpr std::uint32_t uuid = 1, name = 2, process = 3, parent = 5, counter = 8;
constexpr std::uint32_t pid = 1, process_name = 6;  // in process
}  // namespace descriptor
namespace event {
constexpr std::uint32_t annotations = 4, type = 9, track = 11, category = 22, name = 23, whole_value = 30,
                        flows = 47, ending_flows = 48, real_value = 44;
constexpr std::uint64_t begins = 1, ends = 2, instant = 3, counter = 4;  // types
}  // namespace event
namespace annotation {
constexpr std::uint32_t whole = 4, text = 6, name = 10;
}

// The tracks of a node. The loss uses the tracks after those of the last node.
enum Track : std::uint64_t { process_track, time_track, message_track, flight_track, age_track, tracks };

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds) * 1e9));
}

class Writer {
 public:
  explicit Writer(const Recording& recording) : recording_(recording) {}

  std::string text(std::span<const std::int64_t> flows) {
    for (const Lane& lane : recording_.line.lanes) add(lane);
    add_messages(flows);
    add_counters();
    // At equal dates, ends come before begins.
    std::ranges::stable_sort(events_, {}, &std::pair<std::uint64_t, Proto>::first);
    std::string all = std::move(head_);
    for (const auto& [date, what] : events_) all += packet_of(Proto().number(packet::timestamp, date), what);
    return all;
  }

 private:
  static std::uint64_t uuid(std::uint32_t node, std::uint64_t track) { return 1 + node * tracks + track; }

  static std::string packet_of(Proto head, const Proto& what) {
    constexpr std::uint64_t only_sequence = 1;
    return Proto()
        .message(trace::packet, head.number(packet::sequence, only_sequence).message(packet::event, what))
        .bytes();
  }
  void declare(const Proto& track) {
    head_ += Proto().message(trace::packet, Proto().message(packet::descriptor, track)).bytes();
  }
  void declare_part(std::uint32_t node, Track track, std::string_view name, bool is_counter) {
    Proto part;
    part.number(descriptor::uuid, uuid(node, track)).text(descriptor::name, name);
    part.number(descriptor::parent, uuid(node, process_track));
    if (is_counter) part.message(descriptor::counter, Proto());
    declare(part);
  }
  Proto& at(double date) { return events_.emplace_back(nanoseconds(date), Proto()).second; }
  Proto& at(double date, std::uint64_t type, std::uint64_t track) {
    return at(date).number(event::type, type).number(event::track, track);
  }

  void add(const Lane& lane) {
    const std::uint32_t node = lane.node;
    // The mark must be within the first bytes of the file.
    const std::string name = node == 0 ? lane.name + " (psim export)" : lane.name;
    Proto process;
    process.number(descriptor::pid, node + 1).text(descriptor::process_name, name);
    declare(Proto()
                .number(descriptor::uuid, uuid(node, process_track))
                .text(descriptor::name, name)
                .message(descriptor::process, process));
    declare_part(node, time_track, "time", false);
    declare_part(node, message_track, "messages", false);
    declare_part(node, flight_track, "messages on their way", true);
    declare_part(node, age_track, "staleness of applied pushes [updates]", true);
    for (const Span& span : lane.spans) add(lane, span);
    for (const Mark& mark : lane.marks)
      at(mark.at, event::instant, uuid(node, time_track))
          .text(event::category, mark.kind)
          .text(event::name, mark.text);
  }

  void add(const Lane& lane, const Span& span) {
    const std::uint64_t track = uuid(lane.node, time_track);
    Proto& begin = at(span.begin, event::begins, track);
    begin.text(event::category, name_of(span.use)).text(event::name, name_of(span.use));
    const auto annotate = [&](std::string_view name, auto value) {
      Proto note;
      if constexpr (std::is_integral_v<decltype(value)>)
        note.number(annotation::whole, static_cast<std::uint64_t>(value));
      else note.text(annotation::text, value);
      begin.message(event::annotations, note.text(annotation::name, name));
    };
    annotate("clock", span.clock);
    if (span.for_node != lane.node)
      annotate("for", std::string_view(recording_.line.lanes[span.for_node].name));
    if (span.message >= 0) annotate("message", span.message);
    at(span.end, event::ends, track);
  }

  // A message is an instant at each of its ends. With a flow, an arrow connects the two.
  void add_messages(std::span<const std::int64_t> flows) {
    for (const Message& message : recording_.messages) {
      if (!std::ranges::binary_search(flows, message.number)) continue;
      const auto id = static_cast<std::uint64_t>(message.number) + 1;  // 0 is none
      const auto& lanes = recording_.line.lanes;
      at(message.sent, event::instant, uuid(message.from, message_track))
          .text(event::category, "message")
          .text(event::name, fmt::format("{} to {}", message.kind, lanes[message.to].name))
          .fixed(event::flows, id);
      if (message.arrives)
        at(message.end, event::instant, uuid(message.to, message_track))
            .text(event::category, "message")
            .text(event::name, fmt::format("{} from {}", message.kind, lanes[message.from].name))
            .fixed(event::ending_flows, id);
    }
  }

  void add_counters() {
    struct Change {
      double at;
      std::uint32_t node;
      int by;
    };
    std::vector<Change> changes;
    for (const Message& message : recording_.messages) {
      for (const std::uint32_t node : {message.from, message.to}) {
        changes.push_back({message.sent, node, 1});
        changes.push_back({message.end, node, -1});
      }
    }
    std::ranges::stable_sort(changes, {}, &Change::at);
    std::vector<std::int64_t> on_the_way(recording_.line.lanes.size());
    for (std::size_t i = 0; i < changes.size(); ++i) {
      on_the_way[changes[i].node] += changes[i].by;
      at(changes[i].at, event::counter, uuid(changes[i].node, flight_track))
          .number(event::whole_value, static_cast<std::uint64_t>(on_the_way[changes[i].node]));
    }
    for (const Applied& push : recording_.applied)
      at(push.at, event::counter, uuid(push.server, age_track))
          .number(event::whole_value, static_cast<std::uint64_t>(push.staleness));
    std::uint64_t track = uuid(static_cast<std::uint32_t>(recording_.line.lanes.size()), process_track);
    for (const LossCurve& curve : recording_.curves) {
      declare(Proto()
                  .number(descriptor::uuid, track)
                  .text(descriptor::name, curve.name.empty() ? "loss" : "loss of " + curve.name)
                  .message(descriptor::counter, Proto()));
      for (const auto& [date, loss] : curve.points)
        at(date, event::counter, track).real(event::real_value, loss);
      ++track;
    }
  }

  const Recording& recording_;
  std::string head_;                                     // descriptors of tracks
  std::vector<std::pair<std::uint64_t, Proto>> events_;  // by date in nanoseconds
};

}  // namespace

std::string perfetto(const Recording& recording, std::span<const std::int64_t> flows) {
  return Writer(recording).text(flows);
}

}  // namespace psim::analysis
