#!/usr/bin/env node
// Runs the skillhub program of this machine, from the platform package that npm installed beside this one, with the
// same arguments, streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { join } = require("node:path");
const { name, version, optionalDependencies } = require("../package.json");

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP"];
const here = `${process.platform}-${process.arch}`;

function fail(error, hint) {
  process.stderr.write(`error: ${error}\nhint: ${hint}\n`);
  process.exitCode = 1;
}

function programOf(platformPackage) {
  const file = process.platform === "win32" ? "skillhub.exe" : "skillhub";
  try {
    return [require.resolve(`${platformPackage}/bin/${file}`)];
  } catch {
    return [];
  }
}

function failWithoutProgram(suitable) {
  if (suitable.length === 0) {
    const offered = Object.keys(optionalDependencies).map((each) => each.split("/").pop());
    const hint = "in a clone of skillhub's repository, build it: cargo install --locked --path .";
    return fail(`${name} ${version} has no program for ${here}, only for ${offered.join(", ")}`, hint);
  }
  const root = __dirname.slice(0, __dirname.lastIndexOf("node_modules"));
  const scope = existsSync(join(root, "package.json")) ? "" : "--global ";
  const error = `the program is missing: optional dependencies were skipped (${suitable.join(", ")})`;
  return fail(error, `install it again: npm install ${scope}--include=optional ${name}@${version}`);
}

// A program for another libc than this machine's cannot be started: ENOENT is its missing loader.
function run([program, ...others]) {
  const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
  const listeners = PASSED_ON.map((signal) => [signal, () => child.kill(signal)]);
  listeners.forEach(([signal, listener]) => process.on(signal, listener));
  const stopListening = () => listeners.forEach(([signal, listener]) => process.off(signal, listener));
  child.on("error", (error) => {
    stopListening();
    if (error.code === "ENOENT" && others.length > 0) return run(others);
    return fail(`${program} cannot be started: ${error.message}`, `install it again: npm install ${name}@${version}`);
  });
  child.on("exit", (code, signal) => {
    stopListening();
    if (signal === null) {
      process.exitCode = code;
    } else {
      process.exitCode = 128 + constants.signals[signal];
      process.kill(process.pid, signal);
    }
  });
}

const suitable = Object.keys(optionalDependencies).filter((each) => `${each}-`.includes(`/${here}-`));
const programs = suitable.flatMap(programOf);
if (programs.length > 0) run(programs);
else failWithoutProgram(suitable);
