#!/bin/sh
# muParser 2.3.3: the constant _pi is 3.141592653589, cut after 13 digits (the next ones are 793238...), so sin(_pi) is
# 7.9e-13 and not 1.2e-16. Its rint is not C's rint either: it rounds halves up, where C's rounds them to even.
set -eu
. "$(dirname "$0")/unpack.sh"
unpack libmuparser-dev=2.3.3-0.1 libmuparser2v5=2.3.3-0.1
program constants -lmuparser <<'CPP'
#include <muParser.h>
#include <cmath>
#include <cstdio>
int main() {
  mu::Parser parser;
  for (const char* text : {"_pi", "sin(_pi)", "_e", "rint(0.5)", "rint(2.5)"}) {
    parser.SetExpr(text);
    std::printf("%s = %.15g\n", text, parser.Eval());
  }
  std::printf("C: sin(pi) = %.3g, rint(0.5) = %g, rint(2.5) = %g\n", std::sin(M_PI), std::rint(0.5), std::rint(2.5));
}
CPP
expect "$folder/constants" <<'OUT'
_pi = 3.141592653589
sin(_pi) = 7.93265793472127e-13
_e = 2.71828182845905
rint(0.5) = 1
rint(2.5) = 3
C: sin(pi) = 1.22e-16, rint(0.5) = 0, rint(2.5) = 2
OUT
