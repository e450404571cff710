import { COMPILED, REQUIRE, TIMEOUT, TMPDIR } from './ava.config.js';

// The console in a real browser: Chromium, as CHROMIUM names it or where Debian installs it.
export default {
  extensions: ['ts'],
  files: ['test/web/**/*.test.ts'],
  // Each file has a service and a browser.
  concurrency: 2,
  timeout: TIMEOUT,
  require: REQUIRE,
  environmentVariables: { NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: COMPILED, TMPDIR },
};
