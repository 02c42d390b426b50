// A network of queues: every direction of a link is a station that sends one segment at a time. Knows dates
// and bytes, no SimGrid and no message.
//
// Decisions:
// - Segments. A load travels in segments: each is at most 2 / `segments` of it, and at most half of what is
//   left. So its end is known to a small part of its time. The first is any part of such a segment, so that
//   loads of one date do not stay in step.
// - Steps. What tells loads apart that share a station is a few bytes of each (Load::step), and a segment
// that is
//   longer would hide it. So a segment is no longer than a step. Where n loads share a station, a load has
//   `most_segments` / n segments of its own size at most: all of them together cost as much as two.
// - Alone. A load that shares no station needs no segments: its end is known. When another load comes to one
// of
//   its stations, the rest of it goes on in segments; when it is alone again, in one piece.
// - Cut-through. A station may begin with a segment when the station before it has, but not so early that it
//   would run dry; one behind a faster one may begin before that. So a lone load takes bytes / (bandwidth of
//   its slowest link), exactly.
// - Fair queueing. A station serves the segment with the least virtual date, in O(log n). That of a load
//   advances by bytes / weight, as in start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996); a segment
//   stands at its load's own place between its start and its finish, the last one at its finish. Otherwise
//   every load would be early or late by half a segment of each other's.
// - Windows. A load has at most two segments on their way; the next one goes when one has passed all
//   stations. With windows, fair queueing at every station comes near to max-min shares of the whole network
//   (Hahne, "Round-robin scheduling for max-min fairness in data networks", IEEE JSAC 1991), because what
//   waits elsewhere takes no turn here.
// - Packets. What fits into one packet slips in between two packets of a segment, which ends so much later.
// - Changes. A station that gets slower or faster delays or hastens what it serves and what it announced. The
//   stations behind it look whether a segment is there when it is to come, and when they end it. If not, what
//   lacks waits for its turn anew, so that a load that is slow elsewhere keeps no other waiting.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/cluster/heap.hpp"

namespace psim {

class Stations {
 public:
  using Path = boost::container::small_vector<std::uint32_t, 6>;  // stations, in the order of their crossing

  struct Load {
    double bytes = 0;
    double weight = 1;     // of its share where it meets others
    double limit = 0;      // bytes per second at most; 0: no limit
    double last_turn = 0;  // bytes at its end that weigh more (turns.hpp)
    double step = 0;       // bytes of its longest segment where it meets others; 0: as `segments` says
    Path path = {};
    Path back = {};  // of its acknowledgements, if they take room
  };

  // Bandwidths in bytes per second. `arrived` gets a load's slot when its last byte is there, with the date;
  // dates never fall.
  using Arrived = std::function<void(std::uint32_t slot, double date)>;
  Stations(const std::vector<double>& bandwidths, unsigned segments, Arrived arrived);

  // From `date` on. `slot`: a small number that no other load has now.
  void enter(std::uint32_t slot, double date, const Load& load);
  // From `date` on, or from the date until which all has happened if that is later. Nothing more of it is
  // sent, and it does not arrive.
  void cancel(std::uint32_t slot, double date);
  // From then on, too.
  void set_bandwidth(std::uint32_t station, double bandwidth, double date);

  // The date of what happens next; infinite: nothing.
  double next() const;
  // All that happens until then.
  void advance(double until);

 private:
  enum class Stage : std::uint8_t { ahead, here, through };
  struct Hop {
    std::uint32_t station;
    struct At {
      Stage stage;
      std::uint8_t rest;  // 256ths of the segment that it must still pass; 0: all
    };
    At at[2];             // by index of the segment
    double virtual_date;  // finish of the load's last segment there
  };
  // A load on its way.
  struct Open {
    double bytes = 0, left = 0;  // left: has not set out
    double weight = 1, limit = 0, last_turn = 0;
    double paced = 0;  // date until which the limit forbids more
    double place = 0;  // of its segments between start and finish, in [0, 1)
    double step = 0;
    double rate = 0, through = 0;  // alone: how fast, and until when
    struct InFlight {
      double bytes = 0;             // 0: there is none
      std::uint16_t announced = 0;  // hops that it has come to, or that its coming is planned for
      std::uint16_t passed = 0;     // hops
      std::uint8_t number = 0;      // as in Segment
      bool is_last_turn = false;
    };
    InFlight parts[2] = {};  // the segments under way
    std::uint32_t life = 0;  // slots are used again; a segment knows by the life whose it is
    std::uint32_t sent = 0;  // segments
    std::uint16_t hops = 0;  // of its path
    std::uint16_t back = 0;  // stations that its acknowledgements cross
    std::uint8_t under_way = 0;
    bool present = false;
    bool counts = false;  // as one that shares its stations
    bool alone = false;   // on its way in one piece
  };
  struct Segment {
    std::uint32_t slot, life;
    std::uint16_t hop;
    std::uint8_t number;  // of the load's segments; begins again at zero, which none under way notices
    std::uint8_t index;   // in Open::parts
    bool operator==(const Segment&) const = default;
  };
  struct Waiting {
    double at;  // virtual date
    std::uint32_t number;
    Segment segment;
    // Numbers begin again at zero, which matters to none that wait together.
    bool is_behind(std::uint32_t other) const { return static_cast<std::int32_t>(number - other) > 0; }
    bool operator<(const Waiting& o) const { return at > o.at || (at == o.at && is_behind(o.number)); }
  };
  struct Station {
    explicit Station(double bytes_per_second) : bandwidth(bytes_per_second) {}
    double bandwidth;
    double virtual_date = 0;  // of the segment served last
    double end = 0;           // of the segment that is served
    double packets_until = 0;
    double slipped_in = 0;  // seconds that packets have taken from the segment that is served
    Segment served = {};
    std::uint32_t turn = 0;
    std::uint32_t came = 0;                   // segments that had to wait
    std::uint32_t loads = 0;                  // that cross it, or whose acknowledgements do
    std::optional<std::uint32_t> alone = {};  // slot of the load that has it to itself
    bool busy = false;
    Heap<Waiting> waiting;
  };
  enum class Kind : std::uint8_t { enters, comes, ends, arrives, through };
  struct Event {
    double date;
    std::uint64_t number;
    Segment segment;  // ends: the station's number in the place of the slot, its turn in that of the life
    Kind kind;
    bool operator<(const Event& o) const { return date > o.date || (date == o.date && number > o.number); }
  };

  void plan(double date, Kind kind, const Segment& segment);
  void plan_end(std::uint32_t station, double date);
  void happen(const Event& event);
  bool is_gone(const Segment& s) const { return open_[s.slot].life != s.life || !open_[s.slot].present; }
  void slip_in(const Segment& whole);
  double next_segment(std::uint32_t slot) const;
  void set_out(std::uint32_t slot);
  void count_out(std::uint32_t slot);
  bool is_alone(std::uint32_t slot) const;
  void go_alone(std::uint32_t slot);
  void be_no_more_alone(std::uint32_t slot);
  void send_segments(std::uint32_t slot);
  void come(const Segment& segment);
  void serve_next(std::uint32_t station);
  void serve(std::uint32_t station, const Segment& segment);
  void end_turn(std::uint32_t station);
  void announce(const Segment& segment, double begin, double end);
  void announce_again(const Segment& segment, double end);
  const Station* source_of(const Segment& segment) const;
  bool is_due(const Segment& segment);
  bool lacks_rest(const Segment& segment);
  double time_of(const Segment& segment) const;
  void leave(const Segment& segment);
  void arrive(std::uint32_t slot);
  void lay_out(std::uint32_t slot, const Load& load);
  Hop* hops_of(std::uint32_t slot) { return &hops_[slot * hops_each_]; }
  const Hop* hops_of(std::uint32_t slot) const { return &hops_[slot * hops_each_]; }
  Hop::At& at(const Segment& s) { return hops_of(s.slot)[s.hop].at[s.index]; }
  double bytes_of(const Segment& segment) const;

  std::vector<Station> stations_;
  std::vector<Open> open_;  // by slot
  // Of each slot as many as the longest has: of its path, then of its way back.
  std::vector<Hop> hops_;
  std::size_t hops_each_ = 2;
  Heap<Event> events_;
  double part_;  // of a load, that its largest segments are
  Arrived arrived_;
  double clock_ = 0;
  bool has_changed_ = false;  // a bandwidth
  std::uint64_t next_number_ = 0, entered_ = 0;
};

}  // namespace psim
