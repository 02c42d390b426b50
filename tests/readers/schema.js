// schema.js FOLDER SCHEMA MODULES PSIM: what ajv and taplo, from the node modules in MODULES, say of the cases in FOLDER, beside
// psim's own verdicts. They differ only for the reasons below, each of which occurs.
const fs = require("fs"), path = require("path"), { spawnSync } = require("child_process");
const [folder, schemaFile, modules, psim] = process.argv.slice(2);
const cases = JSON.parse(fs.readFileSync(path.join(folder, "cases.json"), "utf8"));
const schema = JSON.parse(fs.readFileSync(schemaFile, "utf8"));

// What [compare] may have is known only when its runs are planned.
cases.forEach((one, i) => {
  if (one.path.startsWith("compare.")) one.psim = spawnSync(psim, ["check", path.join(folder, `${i}.toml`)]).status === 0;
});

// What a schema cannot say, by the value as TOML. `psim`: its verdict.
const reasons = [
  { why: "a pattern knows no size: the quantity is too large or too small", value: /1e999|"2(h|bps|ns|us|[MG]i?B)"|"(1e-1|\.5)B(ps)?"/, psim: false },
  { why: "a pattern knows no whole numbers", value: /"[01]\.5 (update|sample)s?"/, psim: false },
  { why: "JSON has one kind of number, TOML has two", value: /^\[*2\.0\b/, psim: false },
  { why: "a negative zero is zero", value: /"-0/, psim: true },
];

const Ajv = require(path.join(modules, "node_modules/ajv"));
const validate = new Ajv({ strict: false }).compile(schema);
const verdicts = { ajv: cases.map((one) => validate(one.json)) };

const taplo = path.join(modules, "node_modules/.bin/taplo");
if (fs.existsSync(taplo)) {
  const said = spawnSync(taplo, ["lint", "--schema", "file://" + path.resolve(schemaFile), path.join(folder, "*.toml")],
    { encoding: "utf8", maxBuffer: 1 << 28, env: { ...process.env, NO_COLOR: "1" } });
  const refused = new Set([...said.stderr.matchAll(/invalid file .*path="[^"]*?(\d+)\.toml"/g)].map((m) => +m[1]));
  if (refused.size === 0) throw new Error("taplo refuses nothing:\n" + said.stderr.slice(0, 2000));
  verdicts.taplo = cases.map((_, i) => !refused.has(i));
}

let wrong = 0;
const met = new Set();
cases.forEach((one, i) => {
  for (const [reader, all] of Object.entries(verdicts)) {
    if (all[i] === one.psim) continue;
    const reason = reasons.findIndex((r) => r.value.test(one.value) && r.psim === one.psim);
    if (reason >= 0) met.add(reason);
    else if (wrong++ < 40) console.log(`${one.path} = ${one.value}: psim ${one.psim}, ${reader} ${all[i]}`);
  }
});
reasons.forEach((r, i) => { if (!met.has(i)) { wrong++; console.log(`never met: ${r.why}`); } });
console.log(`${cases.length} cases, ${Object.keys(verdicts).join(" and ")}, ${wrong} wrong`);
process.exit(wrong === 0 ? 0 : 1);
