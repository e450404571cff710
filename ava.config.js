// First: an older Node, which cannot load the tests, ends with a sentence.
import './runtime.js';
import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Each file is a thread that loads much the same modules: compiled once, they start in half the time.
export const COMPILED = join(import.meta.dirname, 'node_modules/.cache/compiled');

/** The tests' temporary folders are in memory where there is room: on a disk each commit of a store waits for it. */
export const TMPDIR = process.env.TMPDIR ?? (hasRoom('/dev/shm', 4 * 2 ** 30) ? '/dev/shm' : tmpdir());

const { RUNNING_FILES } = process.env;
/** Only .ci/run asks which files still run at its end. */
export const REQUIRE = RUNNING_FILES === undefined ? [] : ['./.ci/running-files.ts'];
/**
 * Without an end of any test: the last one of a run may be alone, on a machine that has much else to do. .ci/run has a limit of its
 * own, and its reporter, TAP, fails at AVA's.
 */
export const TIMEOUT = RUNNING_FILES === undefined ? '300s' : '3600s';

// AVA's reporter for TAP ends with the first error that has an undefined property, and the run with it: supertap asks js-yaml to
// refuse them. Left out, the report goes on.
const yaml = createRequire(createRequire(import.meta.url).resolve('supertap'))('js-yaml');
const { safeDump } = yaml;
yaml.safeDump = (value) => safeDump(value, { skipInvalid: true });

/** Whole services first: files of the top folder take longest, and the last ones to run should be short. */
const depthOf = (file) => file.split('/').length;

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts', '!test/servers/**', '!test/web/**'],
  sortTestFiles: (a, b) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1),
  // Some files wait more than they work, and beside other programs each that works gets a share of its own.
  concurrency: 4,
  timeout: TIMEOUT,
  require: REQUIRE,
  environmentVariables: { NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: COMPILED, TMPDIR },
};

function hasRoom(folder, bytes) {
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
    const forbids_programs = mounts.some((mount) => mount.includes(` ${folder} `) && mount.includes('noexec'));
    return bavail * bsize > bytes && !forbids_programs;
  } catch {
    return false;
  }
}
