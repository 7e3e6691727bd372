// Checks workflow files with actionlint: node release/workflows.mjs FILE...
// Refuses a sample with a mistake first, so that a checker which finds nothing is noticed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// The package is found in NODE_PATH, which only `require` reads.
const { createLinter } = createRequire(import.meta.url)("actionlint");
const lint = await createLinter();
const sample = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ nowhere.x }}\n";
if (lint(sample, "sample.yml").length === 0) throw new Error("actionlint accepts an unknown context");
const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message } of found) console.log(`${file}:${line}:${column}: ${message}`);
process.exit(found.length && 1);
