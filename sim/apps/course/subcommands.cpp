// The command line of the course.
#include "sim/apps/cli/subcommand.hpp"
#include "sim/apps/cli/validators.hpp"

namespace psim::cli {
namespace {

constexpr Subcommand lab_table[] = {
    {"lab", groups::learn, "Work on a lab of the course: start it, check answers, hand it in.",
     "  psim lab                                           all labs\n"
     "  psim lab start 2 --student a1234567                writes lab2/, with numbers of your own\n"
     "  cd lab2 && psim lab check                          locks predictions, checks answers\n"
     "  psim lab status\n"
     "  psim lab hand-in                                   writes one file for your teacher\n"
     "  psim lab try 7 --course FOLDER                     for teachers: right answers for some made-up "
     "IDs\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("words", a.lab.words, "What to do.")
           ->type_name("list | start NUMBER | check | status | hand-in | try NUMBER");
       app->add_option("--student", a.lab.student, "Your ID. It determines the numbers in your questions.")
           ->check(not_empty("student"));
       app->add_option("--in", a.lab.folder, "The lab's folder; default: this folder.")
           ->check(not_empty("folder"));
       app->add_option("-o,--out", a.lab.out, "start: the new folder; hand-in: the file.")
           ->check(not_empty("folder"));
       app->add_option("--course", a.lab.course, "A folder of labs; default: psim's labs.")
           ->check(not_empty("folder"));
     },
     [](const Asked& a) { return lab(a.lab); }},
    {"grade", groups::learn, "Grade hand-ins of labs: compute the right answers from each ID.",
     "  psim grade hand-ins/*.json --csv grades.csv\n"
     "  psim grade lab2-a1234567.json --gradescope results.json\n"
     "  psim grade lab2-a1234567.json --pass 60            exit code 0 if it has at least 60 %\n",
     [](CLI::App* app, Asked& a) {
       app->add_option("files", a.grade.files, "The hand-ins.")->required();
       app->add_option("--csv", a.grade.csv, "Also write a table of points.")->check(not_empty("file"));
       app->add_option("--gradescope", a.grade.gradescope,
                       "Also write Gradescope's results.json, for one hand-in.")
           ->check(not_empty("file"));
       app->add_option("--junit", a.grade.junit, "Also write JUnit's XML.")->check(not_empty("file"));
       app->add_option("--pass", a.grade.pass,
                       "Per cent of the points that every hand-in needs for exit code 0.")
           ->check(CLI::Range(0.0, 100.0));
       app->add_option("--secret", a.grade.secret,
                       "A secret text. It determines the seeds with which psim scores designs; students do "
                       "not know them.")
           ->check(not_empty("secret"));
       app->add_option("--course", a.grade.course, "A folder of labs; default: psim's labs.")
           ->check(not_empty("folder"));
       app->add_option("-j,--jobs", a.grade.jobs, "Hand-ins at the same time; 0: one per core.")
           ->check(whole(0, 1024));
       app->add_flag("--answers", a.grade.answers,
                     "Also print the right answers, in the table and with --json; only for teachers.");
       app->add_flag("--json", a.grade.json, "Print one JSON document.");
     },
     [](const Asked& a) { return grade(a.grade); }},
};

}  // namespace

std::span<const Subcommand> lab_subcommands() { return lab_table; }

}  // namespace psim::cli
